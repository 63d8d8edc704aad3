internal import CAres
internal import Glibc
package import LinuxIO
package import NetworkTypes

/// Look-ups of names by c-ares, at the name servers of this host, and in its hosts(5): as they were when the process started, or at the
/// last `refresh`.
///
/// c-ares reports the sockets to watch and its next timer, and is only called from the loop. It is opened before the confinement: it reads
/// resolv.conf and the seed of its query IDs.
package final class NameLookUps {
  /// Of a try in milliseconds, and the tries; each round takes longer than the one before.
  private static let patience: (milliseconds: Int32, tries: Int32) = (1500, 2)
  private static let addressLimit = 8

  private let loop: DescriptorLoop
  /// The texts of hosts(5) and resolv.conf(5).
  private var (hosts, configuration): ([UInt8], [UInt8])
  private var channel: ares_channel?
  private let watched: AresSockets

  package init(on loop: DescriptorLoop) throws(SystemError) {
    self.loop = loop
    watched = AresSockets(on: loop)
    (hosts, configuration) = Self.files
    let status = roamward_ares_open(
      &channel, 1, Self.patience.milliseconds, Self.patience.tries,
      { context, socket, readable, writable in
        guard let context else { return }
        Unmanaged<NameLookUps>.fromOpaque(context).takeUnretainedValue().watched.watch(socket, readable != 0, writable != 0)
      }, Unmanaged.passUnretained(self).toOpaque())
    guard status == ARES_SUCCESS else { throw SystemError(code: ENOMEM, operation: "open a channel of c-ares") }
    watched.process = { [weak self] readable, writable in
      guard let self else { return }
      ares_process_fd(channel, readable, writable)
      watched.pace(channel)
    }
  }

  private static var files: (hosts: [UInt8], configuration: [UInt8]) {
    let read = { (path: String) in (try? TextFile.read(path, limit: 1 << 20)) ?? [] }
    return (read(HostsFile.path), read("/etc/resolv.conf"))
  }

  /// Reads both files again, in a process that may: another network has other name servers.
  package func refresh() {
    let before = configuration
    (hosts, configuration) = Self.files
    guard configuration != before, !configuration.isEmpty else { return }
    let servers = Self.servers(in: configuration)
    // Without a line there is one on this machine (resolv.conf(5)).
    ares_set_servers_csv(channel, servers.isEmpty ? "127.0.0.1" : servers.joined(separator: ","))
  }

  /// The addresses of the lines `nameserver`, as c-ares takes them.
  package static func servers(in text: [UInt8]) -> [String] {
    String(decoding: text, as: UTF8.self).split(whereSeparator: \.isNewline).compactMap { line in
      let words = line.split { $0 == " " || $0 == "\t" }
      guard words.count > 1, words[0] == "nameserver" else { return nil }
      // A zone is that of a link; c-ares knows it too.
      guard let address = IPAddress(String(words[1].prefix { $0 != "%" })) else { return nil }
      return address.family == .v6 ? "[\(words[1])]" : "\(address)"
    }
  }

  deinit { if let channel { ares_destroy(channel) } }

  /// The context of a look-up, which c-ares keeps until it answers.
  private final class Query {
    let loop: DescriptorLoop
    let then: ([IPAddress], String) -> Void
    var later: DescriptorLoop.Source?

    init(_ loop: DescriptorLoop, _ then: @escaping ([IPAddress], String) -> Void) {
      self.loop = loop
      self.then = then
    }

    /// Outside of c-ares.
    func answer(_ addresses: [IPAddress], _ reason: String) {
      later = try? loop.at(.now) { [self] in
        later = nil
        then(addresses, reason)
      }
    }
  }

  /// Calls back later, and once, with the addresses, or with none and the reason.
  package func find(_ name: DomainName, then: @escaping (_ addresses: [IPAddress], _ reason: String) -> Void) {
    let query = Query(loop, then)
    let known = HostsFile.addresses(of: name, in: hosts)
    guard known.isEmpty, let channel else { return query.answer(known, "") }
    var hints = ares_addrinfo_hints(ai_flags: 0, ai_family: AF_UNSPEC, ai_socktype: roamward_stream, ai_protocol: 0)
    ares_getaddrinfo(
      channel, name.text, nil, &hints,
      { context, status, _, found in
        defer { ares_freeaddrinfo(found) }
        guard let context else { return }
        let query = Unmanaged<Query>.fromOpaque(context).takeRetainedValue()
        let addresses = status == ARES_SUCCESS ? addresses(of: found, limit: NameLookUps.addressLimit) : []
        query.answer(addresses, addresses.isEmpty ? "its name has no address: \(words(ofAres: status))" : "")
      }, Unmanaged.passRetained(query).toOpaque())
    watched.pace(channel)
  }
}
