/// A client's configuration file, filtered: options that run programs, write files or read files are no part of a tunnel.
///
/// Each option is kept, left out because the agent does it, or an error: an option that is dropped silently could be the one that the
/// tunnel's safety depends on.
package struct ClientFile: Equatable, Sendable {
  package struct Failure: Error, Equatable, Sendable, CustomStringConvertible {
    package let line: Int
    package let reason: String

    package var description: String { "line \(line) of the credential `config`: \(reason)" }
  }

  /// The kept lines.
  package private(set) var text = ""
  /// Whether it has `auth-user-pass`.
  package private(set) var asksForLogin = false
  /// Options that are left out, each once.
  package private(set) var leftOut: [String] = []

  package init(_ bytes: [UInt8]) throws(Failure) {
    guard let content = String(validating: bytes, as: UTF8.self) else { throw Failure(line: 1, reason: "it is not UTF-8") }
    var block: (name: String, line: Int)?
    for (i, line) in content.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let trimmed = line.trimmingSpaces
      if let open = block {
        if trimmed == "</\(open.name)>" { block = nil }
        text += "\(trimmed)\n"
        continue
      }
      guard let first = trimmed.first, first != "#", first != ";" else { continue }
      if trimmed.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\t" }) {
        throw Failure(line: i + 1, reason: "it has a control character")
      }
      if first == "<" {
        let name = String(trimmed.dropFirst().prefix { $0 != ">" })
        guard Self.blocks.contains(name) else { throw Failure(line: i + 1, reason: "the block <\(name)> is not known") }
        block = (name, i + 1)
        text += "\(trimmed)\n"
        continue
      }
      try take(trimmed, line: i + 1)
    }
    if let block { throw Failure(line: block.line, reason: "the block <\(block.name)> has no end") }
  }

  private mutating func take(_ line: Substring, line number: Int) throws(Failure) {
    let words = line.split { $0 == " " || $0 == "\t" }
    var name = words.first.map(String.init) ?? ""
    if name.hasPrefix("--") { name.removeFirst(2) }
    if Self.agents.contains(name) {
      if !leftOut.contains(name) { leftOut.append(name) }
      return
    }
    if Self.files.contains(name) {
      guard words.count < 2 || words[1] == "[inline]" else {
        throw Failure(
          line: number,
          reason: "`\(name)` names a file, which this provider cannot read; write its content between <\(name)> and </\(name)>")
      }
      return
    }
    if name == "auth-user-pass" {
      guard words.count == 1 else {
        throw Failure(
          line: number, reason: "`auth-user-pass` names a file, which this provider cannot read; use the option `username` and a credential"
        )
      }
      asksForLogin = true
    } else if name == "http-proxy", words.count > 3 {
      throw Failure(line: number, reason: "`http-proxy` with a login is not supported")
    } else if !Self.kept.contains(name) {
      throw Failure(line: number, reason: "the option `\(name)` is not allowed; remove it if the tunnel works without it")
    }
    text += "\(line)\n"
  }

  /// Contents that may stand in the file.
  private static let blocks: Set<String> = [
    "ca", "cert", "key", "extra-certs", "tls-auth", "tls-crypt", "tls-crypt-v2", "pkcs12", "crl-verify", "secret", "peer-fingerprint",
    "connection", "dh",
  ]

  /// Options whose first word would be a file.
  private static let files: Set<String> = [
    "ca", "cert", "key", "extra-certs", "tls-auth", "tls-crypt", "tls-crypt-v2", "pkcs12", "crl-verify", "secret", "askpass", "dh",
  ]

  /// Options that the agent or this provider takes care of.
  private static let agents: Set<String> = [
    "dev", "dev-type", "dev-node", "daemon", "log", "log-append", "status", "verb", "mute", "user", "group", "persist-tun", "persist-key",
    "script-security", "up", "down", "up-restart", "down-pre", "route-up", "route-pre-down", "writepid", "management", "management-client",
    "management-hold", "management-query-passwords", "management-up-down", "auth-retry", "mark", "nice", "cd", "chroot", "mlock", "syslog",
    "block-outside-dns", "register-dns", "route-method", "ip-win32", "tap-sleep", "show-net-up", "setenv", "setenv-safe",
    "push-continuation",
    "ifconfig-noexec", "route-noexec", "suppress-timestamps", "machine-readable-output", "errors-to-stderr", "txqueuelen", "iproute",
    "disable-dco", "windows-driver", "remap-usr1", "bind-dev",
  ]

  /// Options that are passed on.
  private static let kept: Set<String> = [
    "client", "tls-client", "pull", "proto", "proto-force", "remote", "remote-random", "remote-random-hostname", "resolv-retry", "port",
    "rport", "lport", "nobind", "bind", "local", "float", "multihome", "key-direction", "cipher", "data-ciphers", "data-ciphers-fallback",
    "ncp-ciphers", "ncp-disable", "auth", "auth-nocache", "remote-cert-tls", "remote-cert-ku", "remote-cert-eku", "ns-cert-type",
    "verify-x509-name", "verify-hash", "tls-version-min", "tls-version-max", "tls-cipher", "tls-ciphersuites", "tls-groups",
    "tls-cert-profile", "peer-fingerprint", "compress", "comp-lzo", "comp-noadapt", "allow-compression", "ping", "ping-restart",
    "ping-exit",
    "ping-timer-rem", "keepalive", "reneg-sec", "reneg-bytes", "reneg-pkts", "hand-window", "tran-window", "tls-timeout", "connect-retry",
    "connect-retry-max", "connect-timeout", "server-poll-timeout", "explicit-exit-notify", "mssfix", "fragment", "tun-mtu", "tun-mtu-extra",
    "tun-mtu-max", "link-mtu", "mtu-disc", "mtu-test", "sndbuf", "rcvbuf", "socket-flags", "tcp-nodelay", "fast-io", "topology", "tun-ipv6",
    "push-peer-info", "route", "route-ipv6", "route-metric", "route-delay", "route-gateway", "route-nopull", "redirect-gateway",
    "redirect-private", "pull-filter", "dhcp-option", "dns", "ifconfig", "ifconfig-ipv6", "ifconfig-nowarn", "block-ipv6", "http-proxy",
    "http-proxy-timeout", "http-proxy-option", "socks-proxy", "ignore-unknown-option", "mute-replay-warnings", "replay-window", "no-replay",
    "key-method", "static-challenge", "x509-username-field", "inactive", "session-timeout", "max-routes", "allow-recursive-routing",
    "disable-occ", "opt-verify", "passtos", "tls-exit", "auth-token", "auth-token-user", "ecdh-curve", "keysize", "prng",
    "max-packet-size", "http-proxy-retry", "persist-local-ip", "persist-remote-ip", "route-ipv6-gateway", "single-session",
    "socks-proxy-retry", "x509-track", "allow-pull-fqdn", "client-nat",
  ]
}
