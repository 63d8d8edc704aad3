// OpenSSL interfaces that Swift cannot import: its stacks are macros over casts.
#include <openssl/bio.h>
#include <openssl/cms.h>
#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/x509.h>

static inline int roamward_certificate_count(STACK_OF(X509) * certificates) { return sk_X509_num(certificates); }

static inline X509 *roamward_certificate(STACK_OF(X509) * certificates, int index) { return sk_X509_value(certificates, index); }

static inline void roamward_free_certificates(STACK_OF(X509) * certificates) { sk_X509_pop_free(certificates, X509_free); }

static inline void roamward_free_certificate_list(STACK_OF(X509) * certificates) { sk_X509_free(certificates); }

static inline CMS_ContentInfo *roamward_read_cms_pem(BIO *input) { return PEM_read_bio_CMS(input, NULL, NULL, NULL); }

static inline long roamward_bio_contents(BIO *memory, char **start) { return BIO_get_mem_data(memory, start); }

/// Writes the certificate's subject in the format of RFC 2253, but with UTF-8 unchanged.
static inline int roamward_print_subject(BIO *output, X509 *certificate) {
  return X509_NAME_print_ex(output, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
}
