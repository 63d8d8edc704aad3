// `cwg_confine` and what goes before it, declared by CWireGuardIO.h. A target of its own, as it needs libseccomp, which nothing else does that has to do with
// an interface.
#include "CWireGuardIO.h"
