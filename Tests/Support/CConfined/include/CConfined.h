// For tests alone: what a program that has been taken over would try, each in a child of its own that has confined itself first.
#ifndef CCONFINED_H
#define CCONFINED_H

int cconfined_count(void);

const char *cconfined_name(int attempt);

enum {
  /// The attempt succeeded.
  CCONFINED_DONE = 0,
  /// The system call ended the process.
  CCONFINED_KILLED = -1,
  /// It could not be tried: the kernel lacks what it takes.
  CCONFINED_UNTRIED = -2,
};

/// Forks. The child prepares the attempt, calls `confine` (NULL: does not) and tries. CCONFINED_..., or the
/// errno value with which it failed.
int cconfined_try(int attempt, int (*confine)(void));

#endif
