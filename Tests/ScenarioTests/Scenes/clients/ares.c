// Looks a name up by c-ares with its defaults, both families. Prints the first IPv4 address, or the failure.
//
// ares NAME
#include <ares.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/select.h>

static int status = ARES_ENODATA;

static void print(void *unused, int result, int timeouts, struct ares_addrinfo *found) {
  (void)unused;
  (void)timeouts;
  status = result;
  if (result != ARES_SUCCESS) {
    printf("failed: %s\n", ares_strerror(result));
    return;
  }
  for (const struct ares_addrinfo_node *node = found->nodes; node != NULL; node = node->ai_next) {
    if (node->ai_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN] = "";
    const struct sockaddr_in *address = (const void *)node->ai_addr;
    printf("%s\n", inet_ntop(AF_INET, &address->sin_addr, text, sizeof text));
    break;
  }
  ares_freeaddrinfo(found);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  ares_channel channel;
  if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS || ares_init(&channel) != ARES_SUCCESS) return 2;
  struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC};
  ares_getaddrinfo(channel, argv[1], NULL, &hints, print, NULL);
  for (;;) {
    fd_set readable, writable;
    FD_ZERO(&readable);
    FD_ZERO(&writable);
    int count = ares_fds(channel, &readable, &writable);
    if (count == 0) break;
    struct timeval room;
    select(count, &readable, &writable, NULL, ares_timeout(channel, NULL, &room));
    ares_process(channel, &readable, &writable);
  }
  ares_destroy(channel);
  ares_library_cleanup();
  return status == ARES_SUCCESS ? 0 : 1;
}
