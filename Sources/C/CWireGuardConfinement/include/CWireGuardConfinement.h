// `cwg_confine` and its prerequisites, declared by CWireGuardIO.h. It is a separate target because it needs libseccomp, which no other part
// of an interface needs.
#include "CWireGuardIO.h"
