// mmap(2) that asks for huge pages where a block is as large as that of a password's hash. Linking this target is sufficient; there is
// nothing to call.
#ifndef CHASHMEMORY_H
#define CHASHMEMORY_H

#endif
