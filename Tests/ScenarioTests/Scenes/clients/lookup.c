// Looks a name up by the C library, as most programs do: both families, one stream address each. Prints the first address, or the failure.
//
// lookup NAME
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  struct addrinfo *found;
  int failure = getaddrinfo(argv[1], NULL, &hints, &found);
  if (failure != 0) {
    printf("failed: %s\n", gai_strerror(failure));
    return 1;
  }
  char text[INET6_ADDRSTRLEN] = "";
  failure = getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST);
  printf("%s\n", failure == 0 ? text : gai_strerror(failure));
  freeaddrinfo(found);
  return 0;
}
