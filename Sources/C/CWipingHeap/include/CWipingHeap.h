// free(3), realloc(3) and reallocarray(3) that wipe freed memory. Linking this target is sufficient; there is nothing to call.
#ifndef CWIPINGHEAP_H
#define CWIPINGHEAP_H

#endif
