internal import JSON
internal import NetworkTypes

/// A stranger's configuration of nebula(1), read and written anew.
///
/// Nothing of the text is passed on, only values of keys that are known to be harmless: nebula cannot read another tree than this reader.
/// Keys that open sockets of their own, read other files or set routes beside the agent's are refused with their line.
package struct NebulaFile: Equatable, Sendable {
  package struct Failure: Error, Equatable, Sendable, CustomStringConvertible {
    package let line: Int
    package let reason: String

    package var description: String { "line \(line) of the credential `config`: \(reason)" }
  }

  /// The text for nebula: flow style with quoted words.
  package let text: String
  /// Whether a host of the overlay can be reached: the address of one is known, or this one is a lighthouse, which others find.
  package let reachesHosts: Bool

  /// - Parameter given: the keys of `pki` that credentials of the policy bring.
  package init(_ bytes: [UInt8], given: Set<String> = []) throws(Failure) {
    let tree = try NebulaNode(parsing: bytes)
    let lighthouse = tree["lighthouse"]?["am_lighthouse"]
    reachesHosts = tree["static_host_map"]?.isEmpty == false || lighthouse.map { !$0.isEmpty && !$0.isOff } ?? false
    text = try NebulaKey.top.kept(of: tree, at: "", given: given)?.text ?? "{}"
  }
}

/// The treatment of a key.
indirect enum NebulaKey: Sendable {
  /// A word, or a list of words.
  case value
  /// A tree of names, addresses and numbers.
  case data
  case keys([String: NebulaKey])
  case list(of: NebulaKey)
  /// A certificate or a key: its text, never the name of a file.
  case pem
  /// Left out: the agent sets it, or the tunnel is the same without it.
  case leftOut
  /// Refused, unless it is empty or turned off.
  case refused(String)

  private static func words(_ names: String) -> [String: NebulaKey] {
    Dictionary(uniqueKeysWithValues: names.split(separator: " ").map { (String($0), .value) })
  }

  private static func keys(_ names: String, _ others: [String: NebulaKey] = [:]) -> NebulaKey {
    .keys(words(names).merging(others) { $1 })
  }

  private static let rules = NebulaKey.list(of: keys("port code proto host group groups cidr local_cidr ca_name ca_sha"))

  static let top = keys(
    "cipher local_range preferred_ranges routines punch_back",
    [
      "pki": keys("blocklist disconnect_invalid initiating_version", ["ca": .pem, "cert": .pem, "key": .pem]),
      "static_host_map": .data,
      "static_map": keys("cadence network lookup_timeout"),
      "lighthouse": keys(
        "am_lighthouse interval hosts advertise_addrs",
        [
          "remote_allow_list": .data, "remote_allow_ranges": .data, "local_allow_list": .data, "calculated_remotes": .data, "dns": .leftOut,
          "serve_dns": .refused("it answers DNS questions on a socket of its own"),
        ]),
      "listen": keys("host port batch read_buffer write_buffer send_recv_error accept_recv_error", ["so_mark": .leftOut]),
      "punchy": keys("punch respond delay respond_delay target_all_remotes"),
      "relay": keys("relays am_relay use_relays"),
      "tun": keys(
        "drop_local_broadcast drop_multicast tx_queue",
        [
          "dev": .leftOut, "mtu": .leftOut, "disabled": .leftOut, "use_system_route_table_buffer_size": .leftOut,
          "routes": .refused("nebula would set routes beside the agent's; `options: { mtu: … }` is for the whole device"),
          "unsafe_routes": .refused("nebula would set routes beside the agent's; name them in `options: { routes: [{ to: …, via: … }] }`"),
          "use_system_route_table": .refused("routes are the agent's; name them in `options: { routes: [{ to: …, via: … }] }`"),
        ]),
      "firewall": keys(
        "outbound_action inbound_action default_local_cidr_any",
        [
          "conntrack": keys("tcp_timeout udp_timeout default_timeout max_connections routine_cache_timeout"), "outbound": rules,
          "inbound": rules,
        ]),
      "handshakes": keys("try_interval retries trigger_buffer query_buffer wait_rotation"),
      "timers": keys("connection_alive_interval pending_deletion_interval"),
      "tunnels": keys("drop_inactive inactivity_timeout"),
      "logging": .leftOut,
      "sshd": .refused("it opens a shell on a socket of its own"),
      "stats": .refused("it sends figures to others, or serves them on a socket of its own"),
    ])

  /// The part of a tree that is passed on; `nil`: nothing of it.
  func kept(of node: NebulaNode, at path: String, given: Set<String>) throws(NebulaFile.Failure) -> NebulaNode? {
    func failure(_ reason: String) -> NebulaFile.Failure { NebulaFile.Failure(line: node.line, reason: "`\(path)`: \(reason)") }
    if case .leftOut = self { return nil }
    if node.isEmpty { return nil }
    switch self {
    case .leftOut: return nil
    case .refused(let reason):
      if node.isOff { return nil }
      throw failure(reason)
    case .data: return node
    case .value:
      switch node.content {
      case .scalar: return node
      case .list(let items) where items.allSatisfy(\.isScalar): return node
      case .list, .mapping: throw failure("expected a word, or a list of words")
      }
    case .pem:
      guard case .scalar(let text, _) = node.content else { throw failure("expected the text of a certificate or a key") }
      let name = path.split(separator: ".").last.map(String.init) ?? ""
      if given.contains(name) { return nil }
      guard text.contains("-----BEGIN ") else {
        throw failure("it names a file, which this provider does not read; name it in the policy: `credentials: { \(name): FILE }`")
      }
      return node
    case .list(let item):
      guard case .list(let items) = node.content else { throw failure("expected a list") }
      var kept: [NebulaNode] = []
      for one in items { if let part = try item.kept(of: one, at: path, given: given) { kept.append(part) } }
      return NebulaNode(line: node.line, content: .list(kept))
    case .keys(let known):
      guard case .mapping(let entries) = node.content else { throw failure("expected keys with values") }
      var kept: [NebulaNode.Entry] = []
      for entry in entries {
        let place = path.isEmpty ? entry.key : "\(path).\(entry.key)"
        guard let key = known[entry.key] else {
          // The word itself is shown only if it looks like a key.
          let isWord = entry.key.utf8.count <= 40 && entry.key.utf8.allSatisfy { (97...122).contains($0) || $0 == UInt8(ascii: "_") }
          throw NebulaFile.Failure(
            line: entry.line,
            reason: "\(isWord ? "`\(place)`" : "a key") is not known to be harmless; remove it if the tunnel works without it")
        }
        if let part = try key.kept(of: entry.value, at: place, given: given) {
          kept.append(NebulaNode.Entry(key: entry.key, line: entry.line, value: part))
        }
      }
      return NebulaNode(line: node.line, content: .mapping(kept))
    }
  }
}
