// The pages of the program and its libraries that are only read: code and constants.
#ifndef CTEXTPAGES_H
#define CTEXTPAGES_H

#include <stddef.h>

/// Unmaps the pages of code and constants, which the kernel maps again from its page cache when they are used. Returns their number of
/// bytes, mapped or not. Nothing is lost: the pages are read-only and those of the files. Objects with relocated code are left alone. It
/// may be called at any time; breakpoints of a debugger are lost.
size_t ctextpages_release(void);

#endif
