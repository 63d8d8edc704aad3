// The pages of the program and its libraries that hold code.
#ifndef CTEXTPAGES_H
#define CTEXTPAGES_H

#include <stddef.h>

/// Unmaps the pages of code, which the kernel maps again from its page cache when they run. Returns their number of bytes, mapped or not.
/// Nothing is lost: the pages are read-only and those of the files. Objects with relocated code are left alone. May be called at any time;
/// breakpoints of a debugger are lost.
size_t ctextpages_release(void);

#endif
