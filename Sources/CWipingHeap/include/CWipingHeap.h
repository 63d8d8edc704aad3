// free(3), realloc(3) and reallocarray(3) that wipe what they give back. A program that links this target has
// them; nothing is to be called.
#ifndef CWIPINGHEAP_H
#define CWIPINGHEAP_H

#endif
