/* interchange_view_with() and interchange_view_done(), which interchange/interchange.h declares. */
#ifndef INTERCHANGE_REQUESTS_H
#define INTERCHANGE_REQUESTS_H

#include "view.h"

#endif
