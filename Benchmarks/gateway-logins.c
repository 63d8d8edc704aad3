// Clients that log in to a gateway (docs/wire-format.md), for Benchmarks/gateway-crowd: many connections in one thread, so that little of
// the processors that both sides share is the clients'.
//
// gateway-logins logins ADDRESS PORT COUNT USERS          COUNT logins as u0, u1 … with the password `correct horse`, 16 at a time
// gateway-logins flood ADDRESS PORT SECONDS USERS RATE [PATIENCE]
//                                                         wrong passwords, so many a second whatever becomes of them, each second one with
//                                                         a name that exists; a client waits PATIENCE seconds (5)
// gateway-logins timing ADDRESS PORT COUNT USERS          wrong passwords for COUNT names that exist and as many others, 8 at a time
// gateway-logins wave ADDRESS PORT COUNT USERS            wrong passwords all at once: COUNT clients come up to the password, which prints
//                                                         `ready`; at a line of standard input they say it, which prints `said`; it ends
//                                                         when half of them have an answer
// gateway-logins hashes COUNT                             no login: COUNT hashes as the gateway's by libsodium, by two threads
//
// Each connection has an address of its own in 198.18.0.0/15. Prints a line of JSON.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { capacity = 16384, hello = 0x01, password = 0x02, welcome = 0x81, done = 0x83, failed = 0x84, wrong = 1, later = 2 };

enum state { connecting, shaking, greeting, welcomed, waiting };

struct client {
  int fd;
  SSL *session;
  enum state state;
  uint32_t number;
  bool exists;
  double began, asked;
};

static SSL_CTX *context;
static struct sockaddr_in gateway;
static int events;
static uint32_t users;
static bool isFlood, isRight, isWave;
static struct client clients[capacity];
static int open_clients, welcomed_clients, unused[capacity];
/// The outcomes of attempts: the number of each, and of the judged ones the seconds from password to answer.
static long begun, accepted, judged[2], pauses, broken;
static double *times[2];

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void die(const char *what) {
  perror(what);
  exit(1);
}

/// Appends a field to a frame.
static size_t field(uint8_t *frame, size_t size, uint8_t tag, const void *value, size_t length) {
  frame[size++] = tag;
  frame[size++] = (uint8_t)(length >> 8);
  frame[size++] = (uint8_t)length;
  memcpy(frame + size, value, length);
  return size + length;
}

static bool say(struct client *client, uint8_t *frame, size_t size, uint8_t kind) {
  frame[0] = (uint8_t)((size - 2) >> 8);
  frame[1] = (uint8_t)(size - 2);
  frame[2] = kind;
  return SSL_write(client->session, frame, (int)size) == (int)size;
}

static bool say_hello(struct client *client) {
  uint8_t frame[256], key[32], device[16];
  if (getrandom(key, sizeof key, 0) != sizeof key) return false;
  int length = snprintf((char *)device, sizeof device, "d%u", client->number);
  size_t size = field(frame, 3, 1, "\x01\x01", 2);
  size = field(frame, size, 2, "\x01\x02", 2);
  size = field(frame, size, 3, device, (size_t)length);
  return say(client, frame, field(frame, size, 4, key, sizeof key), hello);
}

static bool say_password(struct client *client) {
  uint8_t frame[256];
  char name[32];
  const char *text = isRight ? "correct horse" : "wrong";
  // Both kinds of names are equally many, and each comes equally often.
  int length = snprintf(name, sizeof name, "%c%u", client->exists ? 'u' : 's', (client->number - 1) / (isRight ? 1 : 2) % users);
  size_t size = field(frame, 3, 1, name, (size_t)length);
  client->asked = now();
  return say(client, frame, field(frame, size, 2, text, strlen(text)), password);
}

static void end(struct client *client) {
  // A reset: the connection leaves nothing behind.
  struct linger none = {.l_onoff = 1, .l_linger = 0};
  setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
  SSL_free(client->session);
  close(client->fd);
  client->fd = -1;
  unused[--open_clients] = (int)(client - clients);
}

static void begin(uint32_t number) {
  begun++;
  struct client *client = &clients[unused[open_clients++]];
  *client = (struct client){.number = number, .exists = isRight || number % 2, .began = now()};
  client->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (client->fd < 0) die("socket");
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc6120000 + number % 131000 + 1)};
  if (bind(client->fd, (struct sockaddr *)&own, sizeof own) < 0) die("bind");
  client->session = SSL_new(context);
  SSL_set_fd(client->session, client->fd);
  SSL_set_connect_state(client->session);
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = client};
  if (epoll_ctl(events, EPOLL_CTL_ADD, client->fd, &event) < 0) die("epoll_ctl");
  if (connect(client->fd, (struct sockaddr *)&gateway, sizeof gateway) < 0 && errno != EINPROGRESS) {
    broken++;
    end(client);
  }
}

/// Goes on as far as it can; `false` at the end of the attempt.
static bool proceed(struct client *client) {
  if (client->state == connecting) client->state = shaking;
  if (client->state == shaking) {
    int result = SSL_do_handshake(client->session);
    if (result == 1) {
      if (!say_hello(client)) return false;
      client->state = greeting;
    } else {
      int error = SSL_get_error(client->session, result);
      return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
    }
  }
  uint8_t bytes[4096];
  int count = SSL_read(client->session, bytes, sizeof bytes);
  if (count <= 0) return SSL_get_error(client->session, count) == SSL_ERROR_WANT_READ;
  uint8_t kind = count > 2 ? bytes[2] : 0, reason = count > 6 ? bytes[6] : 0;
  if (client->state == greeting && kind == welcome) {
    welcomed_clients++;
    client->state = isWave ? welcomed : waiting;
    return isWave || say_password(client);
  }
  if (client->state != waiting) return false;
  client->state = connecting;
  if (kind == done) accepted++;
  if (kind == failed && reason == later) pauses++;
  if (kind == failed && reason == wrong) {
    long *kept = &judged[client->exists];
    if (*kept % 1024 == 0) times[client->exists] = realloc(times[client->exists], (size_t)(*kept + 1024) * sizeof(double));
    if (times[client->exists] == NULL) die("realloc");
    times[client->exists][(*kept)++] = now() - client->asked;
  }
  return false;
}

/// Serves the clients that have something, for at most so many milliseconds.
static void serve(int patience) {
  struct epoll_event ready[256];
  int count = epoll_wait(events, ready, 256, patience);
  for (int i = 0; i < count; i++) {
    struct client *client = ready[i].data.ptr;
    ERR_clear_error();
    if (proceed(client)) continue;
    // An answer has set the state back.
    if (client->state != connecting) broken++;
    end(client);
  }
}

/// Ends those that have waited for so many seconds.
static void expire(double patience) {
  double limit = now() - patience;
  for (int i = 0; i < capacity; i++) {
    if (clients[i].fd < 0 || clients[i].began > limit) continue;
    broken++;
    end(&clients[i]);
  }
}

/// The next login begins when one of `width` ends. The right ones are repeated until all are accepted.
static void one_after_another(long count, int width) {
  uint32_t number = 0;
  double look = 0;
  while (true) {
    long ready = isRight ? accepted : judged[0] + judged[1];
    if (ready >= count) return;
    while (open_clients < width && ready + open_clients < count) begin(++number);
    serve(100);
    if (now() < look + 1) continue;
    look = now();
    expire(20);
  }
}

static void at_a_rate(double seconds, double rate, double patience) {
  double first = now(), look = first;
  while (true) {
    double time = now() - first;
    if (time >= seconds) return;
    // Those that have begun are served meanwhile, also where this program is too slow for the rate.
    for (int i = 0; i < 32 && begun < (long)(time * rate) && open_clients < capacity; i++) begin((uint32_t)begun + 1);
    serve(1);
    if (now() < look + 0.25) continue;
    look = now();
    expire(patience);
  }
}

static void all_at_once(long count) {
  while (begun < count) begin((uint32_t)begun + 1);
  while (welcomed_clients < count && open_clients == count) serve(100);
  printf("ready\n");
  fflush(stdout);
  if (getchar() != '\n') die("standard input");
  for (long i = 0; i < count; i++) {
    if (clients[i].fd < 0 || clients[i].state != welcomed) continue;
    clients[i].state = waiting;
    if (say_password(&clients[i])) continue;
    broken++;
    end(&clients[i]);
  }
  printf("said\n");
  fflush(stdout);
  while (open_clients > 0 && 2 * (judged[0] + judged[1] + pauses) < count) serve(100);
}

static int ascending(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

/// The share of pairs in which the answer for a name that exists takes longer than that for another name; 0.5: nothing can be told.
static double later_share(void) {
  double above = 0;
  for (long i = 0, below = 0, same = 0; i < judged[1]; i++) {
    while (below < judged[0] && times[0][below] < times[1][i]) below++;
    for (same = below; same < judged[0] && times[0][same] == times[1][i];) same++;
    above += (double)below + (double)(same - below) / 2;
  }
  return above / ((double)judged[0] * (double)judged[1]);
}

static void report(double seconds) {
  printf("{\"seconds\": %.3f, \"begun\": %ld, \"done\": %ld, \"judged\": %ld, \"pauses\": %ld, \"broken\": %ld", seconds, begun, accepted,
         judged[0] + judged[1], pauses, broken);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf(", \"processor\": %.3f",
         (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
  if (judged[0] > 0 && judged[1] > 0) {
    for (int kind = 0; kind < 2; kind++) {
      qsort(times[kind], (size_t)judged[kind], sizeof(double), ascending);
      printf(", \"%s\": [%ld", kind ? "existing" : "others", judged[kind]);
      for (int quarter = 1; quarter < 4; quarter++) printf(", %.4f", times[kind][judged[kind] * quarter / 4]);
      printf("]");
    }
    printf(", \"later\": %.4f", later_share());
  }
  printf("}\n");
}

static char hash[crypto_pwhash_STRBYTES];

static void *verify(void *count) {
  for (long i = 0; i < *(long *)count; i++) {
    if (crypto_pwhash_str_verify(hash, "correct horse", 13) != 0) die("hash");
  }
  return NULL;
}

static int hash_alone(long count) {
  long half = count / 2;
  if (sodium_init() < 0 ||
      crypto_pwhash_str(hash, "correct horse", 13, crypto_pwhash_OPSLIMIT_INTERACTIVE, crypto_pwhash_MEMLIMIT_INTERACTIVE) != 0) {
    die("hash");
  }
  pthread_t threads[2];
  double first = now();
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, verify, &half);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  accepted = 2 * half;
  report(now() - first);
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "hashes") == 0) return hash_alone(atol(argv[2]));
  if (argc < 6) {
    fprintf(stderr, "usage: gateway-logins logins|timing|wave ADDRESS PORT COUNT USERS\n"
                    "       gateway-logins flood ADDRESS PORT SECONDS USERS RATE [PATIENCE]\n       gateway-logins hashes COUNT\n");
    return 2;
  }
  isRight = strcmp(argv[1], "logins") == 0;
  isFlood = strcmp(argv[1], "flood") == 0;
  isWave = strcmp(argv[1], "wave") == 0;
  gateway = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[3]))};
  if (inet_pton(AF_INET, argv[2], &gateway.sin_addr) != 1) die("address");
  users = (uint32_t)atoi(argv[5]);
  signal(SIGPIPE, SIG_IGN);
  struct rlimit limit = {capacity + 64, capacity + 64};
  setrlimit(RLIMIT_NOFILE, &limit);
  for (int i = 0; i < capacity; i++) {
    unused[i] = i;
    clients[i].fd = -1;
  }
  events = epoll_create1(EPOLL_CLOEXEC);
  context = SSL_CTX_new(TLS_client_method());
  if (events < 0 || context == NULL) die("prepare");
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set1_groups_list(context, "X25519");
  double first = now();
  if (isFlood)
    at_a_rate(atof(argv[4]), argc > 6 ? atof(argv[6]) : 1000, argc > 7 ? atof(argv[7]) : 5);
  else if (isWave)
    all_at_once(atol(argv[4]) < capacity ? atol(argv[4]) : capacity);
  else
    one_after_another(atol(argv[4]) * (isRight ? 1 : 2), isRight ? 16 : 8);
  report(now() - first);
  return 0;
}
