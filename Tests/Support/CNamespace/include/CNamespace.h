// For tests alone: other namespaces for the calling thread and for every child that it starts, and the way back.
#ifndef CNAMESPACE_H
#define CNAMESPACE_H

struct cnamespace_home {
  int network, mounts, folder;
};

/// Enters a new network namespace with the loopback link up, and with `mounts` a mount namespace from which nothing propagates back.
/// 0, or -1 with errno; then nothing has changed.
int cnamespace_enter(int mounts, struct cnamespace_home *home);

/// Goes back. Ends the program where that fails: what runs next would run in the wrong place.
void cnamespace_leave(struct cnamespace_home *home);

/// Mounts a file or folder over another. 0, or -1 with errno.
int cnamespace_bind(const char *source, const char *target);

#endif
