#ifndef CXFRM_H
#define CXFRM_H

#include <stdint.h>

/// Removes the kernel's IPsec states and policies of an XFRM interface's identifier. Returns how many, or -errno.
int cxfrm_remove(uint32_t identifier);

#endif
