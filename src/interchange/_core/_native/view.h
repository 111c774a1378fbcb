/* interchange_view() and interchange_view_release(), which interchange/interchange.h declares. */
#ifndef INTERCHANGE_VIEW_H
#define INTERCHANGE_VIEW_H

#include "compat.h"

#include "../../include/interchange/interchange.h"

#endif
