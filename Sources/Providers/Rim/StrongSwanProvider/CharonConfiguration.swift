package import ProviderProtocol

/// The strongswan.conf(5) of a charon of ours: no file of the machine is read, and nothing but states and policies of IPsec is set.
package struct CharonConfiguration: Equatable, Sendable {
  var folder: String
  var link: XFRMLink

  package init(folder: String, link: XFRMLink) {
    self.folder = folder
    self.link = link
  }

  private static let plugins = [
    "random", "nonce", "openssl", "aes", "sha1", "sha2", "hmac", "kdf", "gcm", "gmp", "pem", "pkcs1", "pkcs8", "x509", "constraints",
    "revocation", "pubkey", "kernel-netlink", "socket-default", "vici", "resolve", "eap-identity", "eap-mschapv2",
  ]

  package var text: String {
    // The program's own name is that of its section.
    ["charon", "charon-systemd"].map { "\($0) {\n\(section)}\n" }.joined()
  }

  /// Routes: charon installs none for policies with an XFRM interface. Without `install_routes` it would ask the kernel for the way to the
  /// server, without a mark, and hear of its own tunnel; with it, it reads all routes, and leaves out those into that link.
  ///
  /// Ports: any, because those below 1024 need a capability. Time limits: an answer is given up after 2 + 3.6 + 6.5 + 11.7 seconds.
  private var section: String {
    """
      load = \(Self.plugins.joined(separator: " "))
      port = 0
      port_nat_t = 0
      install_routes = yes
      install_virtual_ip = no
      routing_table = 0
      interfaces_ignore = \(link.interface)
      retransmit_tries = 3
      retransmit_timeout = 2.0
      retransmit_base = 1.8
      threads = 8
      syslog { identifier = roamward }
      journal { default = -1 }
      filelog {
        stderr {
          default = 1
          flush_line = yes
        }
      }
      plugins {
        vici { socket = unix://\(folder)/vici }
        resolve { file = \(folder)/name-servers }
      }

    """
  }
}
