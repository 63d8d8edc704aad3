/// The services that programs of glibc ask for the address of a name, in order: the line `hosts` of /etc/nsswitch.conf (nsswitch.conf(5)).
///
/// Programs without glibc's look-up (musl, static Go, c-ares, dig) ignore it and read resolv.conf.
package struct HostsLookup: Equatable, Sendable {
  /// A status of a service, after which the look-up ends or goes on.
  package enum Status: String, Hashable, Sendable, CaseIterable {
    /// The service found the name.
    case success
    /// The service knows that there is no such name.
    case notfound
    /// The service is not there.
    case unavail
    /// The service is busy.
    case tryagain
  }

  package struct Service: Hashable, Sendable {
    package var name: String
    /// The statuses that end the look-up. Others go on to the next service.
    package var ends: Set<Status>

    package init(_ name: String, ends: Set<Status> = [.success]) {
      self.name = name
      self.ends = ends
    }
  }

  /// The resolver that glibc asks first for the name of a host on the network.
  package enum Way: Equatable, Sendable {
    /// systemd-resolved, by the module nss-resolve(8), whatever resolv.conf names.
    case resolved
    /// The servers of resolv.conf.
    case resolvConf
    /// Neither: no name of the network is resolved.
    case unresolved
  }

  package var services: [Service]

  package init(_ services: [Service]) { self.services = services }

  /// The services that glibc asks without the line.
  package static let usual = HostsLookup([Service("files"), Service("dns")])

  /// Parses the file as glibc does: the last line counts, a service is a word, the bracket after it changes what its statuses do. A bracket
  /// that glibc does not understand ends the line.
  package init(parsing text: String) {
    self = .usual
    for line in text.split(whereSeparator: \.isNewline) {
      let content = line.prefix { $0 != "#" }
      guard let colon = content.firstIndex(of: ":"), content[..<colon].filter({ !$0.isWhitespace }) == "hosts" else { continue }
      services = Self.services(in: content[content.index(after: colon)...])
    }
  }

  private static func services(in line: Substring) -> [Service] {
    var services: [Service] = []
    var rest = line.drop(while: \.isWhitespace)
    while let first = rest.first {
      if first == "[" {
        guard let end = rest.firstIndex(of: "]"), !services.isEmpty, let ends = services.last?.ends,
          let changed = statuses(in: rest[rest.index(after: rest.startIndex)..<end], changing: ends)
        else { return services }
        services[services.count - 1].ends = changed
        rest = rest[rest.index(after: end)...]
      } else {
        let name = rest.prefix { !$0.isWhitespace && $0 != "[" }
        services.append(Service(String(name)))
        rest = rest[name.endIndex...]
      }
      rest = rest.drop(while: \.isWhitespace)
    }
    return services
  }

  /// `!UNAVAIL=return NOTFOUND=continue`: the statuses that end the look-up afterwards; `nil` if one of the words is none of these.
  private static func statuses(in text: Substring, changing ends: Set<Status>) -> Set<Status>? {
    var ends = ends
    for word in text.lowercased().split(whereSeparator: \.isWhitespace) {
      let parts = word.split(separator: "=", omittingEmptySubsequences: false)
      guard parts.count == 2 else { return nil }
      let isNegated = parts[0].first == "!"
      guard let status = Status(rawValue: String(parts[0].drop { $0 == "!" })) else { return nil }
      let changed = isNegated ? Set(Status.allCases).subtracting([status]) : [status]
      switch parts[1] {
      case "return": ends.formUnion(changed)
      case "continue", "merge": ends.subtract(changed)
      default: return nil
      }
    }
    return ends
  }

  /// Whether the module nss-resolve is asked at all.
  package var namesResolved: Bool { services.contains { $0.name == "resolve" } }

  /// `resolvedAnswers`: the module is installed, and systemd-resolved answers it. Otherwise the module's status is "unavail".
  package func way(resolvedAnswers: Bool) -> Way {
    for service in services {
      switch service.name {
      case "resolve" where resolvedAnswers: return .resolved
      case "resolve": if service.ends.contains(.unavail) { return .unresolved }
      case "dns": return .resolvConf
      // The others know names of this machine and of its link alone: files, myhostname, mdns4_minimal … A name of the network is unknown
      // to them.
      default: if service.ends.contains(.notfound), !service.name.hasSuffix("_minimal") { return .unresolved }
      }
    }
    return .unresolved
  }
}

extension HostsLookup: CustomStringConvertible {
  /// `hosts: files resolve [!UNAVAIL=return] dns`, in a form that parses to the same.
  package var description: String {
    let words = services.map { service -> String in
      if service.ends == [.success] { return service.name }
      if service.ends == Set(Status.allCases).subtracting([.unavail]) { return service.name + " [!UNAVAIL=return]" }
      let ends = Status.allCases.filter { $0 != .success && service.ends.contains($0) }.map { "\($0.rawValue.uppercased())=return" }
      let more = service.ends.contains(.success) ? [] : ["SUCCESS=continue"]
      return service.name + " [" + (ends + more).joined(separator: " ") + "]"
    }
    return (["hosts:"] + words).joined(separator: " ")
  }
}
