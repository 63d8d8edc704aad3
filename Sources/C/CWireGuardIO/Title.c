#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "CWireGuardIO.h"

// The kernel keeps arguments and environment side by side in the process's own memory, and shows what is there now (proc_pid_cmdline(5)).
int cwg_retitle(const char *words, size_t length, const char *variable) {
  char *arguments = program_invocation_name, *old = environ ? environ[0] : NULL;
  if (!old || old <= arguments) return -1;
  size_t room = (size_t)(old - arguments), size = strlen(variable), place = strlen(old);
  // The last byte stays zero.
  if (length > room || size > place) return -1;
  memset(arguments, 0, room);
  memcpy(arguments, words, length);
  memset(old, 0, place);
  memcpy(old, variable, size);
  return 0;
}
