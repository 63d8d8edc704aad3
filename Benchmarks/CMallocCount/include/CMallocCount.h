// Counts what the program that links this allocates: its malloc(3) and the like stand before the C library's.
#ifndef CMALLOCCOUNT_H
#define CMALLOCCOUNT_H

/// The number of times that memory was allocated, or a piece made larger or smaller, since the program began.
unsigned long cmalloc_count(void);

/// Counts at another place from now on, such as memory that other processes read.
void cmalloc_count_in(unsigned long *place);

#endif
