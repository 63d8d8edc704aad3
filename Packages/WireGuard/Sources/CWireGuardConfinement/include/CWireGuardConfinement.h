// `cwg_confine` and what goes before it, declared by CWireGuardIO.h. A target of its own: it needs libseccomp, which
// nothing else that has to do with an interface needs.
#include "CWireGuardIO.h"
