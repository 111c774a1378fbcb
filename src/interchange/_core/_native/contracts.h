/* Arguments that are imported and checked against contracts. */
#ifndef INTERCHANGE_CONTRACTS_H
#define INTERCHANGE_CONTRACTS_H

#include "state.h"

HIDDEN int make_checks_type(void);
extern HIDDEN PyMethodDef contracts_functions[];

#endif
