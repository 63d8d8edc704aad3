// Wrappers of OpenSSL's macros.
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>

/// A context of servers for TLS 1.3 alone, without session tickets: a ticket would be state that a login does not need.
static inline SSL_CTX *roamward_tls_server(void) {
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  if (!context) return NULL;
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return context;
}

/// A context of clients for the same. Its server is known by its key, which the client compares.
static inline SSL_CTX *roamward_tls_client(void) {
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  if (!context) return NULL;
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
  return context;
}

/// Counts the peer's requests for new keys (RFC 8446, section 4.6.3): OpenSSL has no limit of them.
static inline void roamward_tls_message(int is_sent, int version, int type, const void *message, size_t length, SSL *session, void *count) {
  (void)version;
  (void)session;
  if (!is_sent && type == SSL3_RT_HANDSHAKE && length > 0 && *(const unsigned char *)message == SSL3_MT_KEY_UPDATE) ++*(unsigned *)count;
}

/// `count` outlives the session.
static inline void roamward_tls_count_key_updates(SSL *session, unsigned *count) {
  SSL_set_msg_callback(session, roamward_tls_message);
  SSL_set_msg_callback_arg(session, count);
}

static inline size_t roamward_tls_pending(BIO *memory) { return BIO_ctrl_pending(memory); }
