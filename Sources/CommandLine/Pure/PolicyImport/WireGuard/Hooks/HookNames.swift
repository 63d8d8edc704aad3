import NetworkTypes
import RoamwardCore

/// The name servers of a wg-quick file: those of `DNS`, and then those that its `PostUp` lines set.
struct HookNames: Equatable {
  private(set) var servers: [IPAddress] = []
  private(set) var search: [DomainName] = []
  /// Names with a `~`: they only choose the server.
  private(set) var routing: [DomainName] = []
  /// `~.`: the servers answer every name.
  private(set) var isForEveryName = false
  /// systemd-resolved's `default-route` of the link; `nil`: not set.
  private(set) var isDefaultRoute: Bool?
}

/// The result of one command that may be about name servers.
enum HookNamesOutcome: Equatable {
  /// It is about something else.
  case other
  case taken
  /// It sets name servers in a way that is not understood.
  case lost
  /// It only concerns how the servers are asked.
  case without(String)
}

extension HookNames {
  /// The settings of the file's `DNS` lines. wg-quick gives its servers every name, unless a `~` says otherwise.
  mutating func takeFile(servers: [IPAddress], domains: [String]) -> Bool {
    self.servers += servers
    guard takeDomains(domains, adding: true) else { return false }
    if routing.isEmpty, !self.servers.isEmpty { isForEveryName = true }
    return true
  }

  private mutating func takeDomains(_ texts: some Collection<String>, adding: Bool = false) -> Bool {
    var new = HookNames()
    for text in texts where !text.isEmpty {
      let isRouting = text.hasPrefix("~")
      let bare = isRouting ? String(text.dropFirst()) : text
      if bare == "." {
        new.isForEveryName = true
      } else if let name = DomainName(bare.hasSuffix(".") ? String(bare.dropLast()) : bare) {
        if isRouting { new.routing.append(name) } else { new.search.append(name) }
      } else {
        return false
      }
    }
    if !adding { (search, routing, isForEveryName) = ([], [], false) }
    search += new.search
    routing += new.routing
    isForEveryName = isForEveryName || new.isForEveryName
    return true
  }

  private mutating func takeServers(_ texts: some Collection<String>) -> Bool {
    var new: [IPAddress] = []
    for text in texts where !text.isEmpty {
      // The name after # is for DNS over TLS.
      guard let address = IPAddress(String(text.prefix { $0 != "#" })) else { return false }
      new.append(address)
    }
    servers = new
    return true
  }

  mutating func take(_ command: HookCommand) -> HookNamesOutcome {
    switch command.program {
    case "resolvectl": return takeResolvectl(command.arguments)
    case "systemd-resolve": return takeSystemdResolve(command.arguments)
    case "resolvconf": return takeResolvconf(command)
    default:
      let changesFile = command.output.map(Self.isResolverFile) ?? command.words.contains(where: Self.isResolverFile)
      if changesFile || ["resolvconf", "netconfig", "dnsmasq"].contains(command.program) { return .lost }
      let names = ["org.freedesktop.resolve1", "ipv4.dns", "ipv6.dns", "ipv4.dns-search"]
      return command.words.contains { word in names.contains { word.contains($0) } } ? .lost : .other
    }
  }

  private static func isResolverFile(_ path: String) -> Bool {
    path.hasSuffix("/resolv.conf") || path.hasPrefix("/etc/dnsmasq") || path.hasPrefix("/etc/systemd/resolved")
      || path.hasSuffix("/unbound.conf")
  }

  private mutating func takeResolvectl(_ arguments: ArraySlice<String>) -> HookNamesOutcome {
    let words = arguments.filter { !$0.hasPrefix("--") && $0 != "-q" }
    guard let verb = words.first else { return .taken }
    if ["flush-caches", "reset-server-features", "reset-statistics", "status", "query", "statistics"].contains(verb) { return .taken }
    guard words.dropFirst().first == "%i" else { return .lost }
    let values = words.dropFirst(2)
    switch verb {
    case "dns", "domain":
      // Without values it only prints.
      if values.isEmpty { return .taken }
      return verb == "dns" ? takeServers(values) ? .taken : .lost : takeDomains(values) ? .taken : .lost
    case "default-route":
      guard let value = values.first.flatMap(Self.boolean) else { return .lost }
      isDefaultRoute = value
      return .taken
    case "dnsovertls": return Self.tls(values.first)
    case "dnssec": return Self.validation(values.first)
    case "llmnr", "mdns", "nta", "log-level": return .taken
    case "revert":
      self = HookNames()
      return .taken
    default: return .lost
    }
  }

  private mutating func takeSystemdResolve(_ arguments: ArraySlice<String>) -> HookNamesOutcome {
    var rest = arguments
    var link: String?
    var servers: [String] = []
    var domains: [String] = []
    var outcome = HookNamesOutcome.taken
    while let word = rest.popFirst() {
      let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
      func value() -> String { parts.count == 2 ? parts[1] : rest.popFirst() ?? "" }
      switch parts.first ?? "" {
      case "-i", "--interface": link = value()
      case "--set-dns": servers.append(value())
      case "--set-domain": domains.append(value())
      case "--set-dnsovertls": outcome = Self.tls(value())
      case "--set-dnssec": outcome = Self.validation(value())
      case "--set-llmnr", "--set-mdns", "--set-nta": _ = value()
      case "--flush-caches", "--reset-server-features", "--status", "--statistics", "--no-pager": break
      case "--revert": self = HookNames()
      default: return .lost
      }
    }
    if servers.isEmpty, domains.isEmpty { return outcome }
    guard link == "%i", servers.isEmpty || takeServers(servers), domains.isEmpty || takeDomains(domains) else { return .lost }
    return outcome
  }

  private mutating func takeResolvconf(_ command: HookCommand) -> HookNamesOutcome {
    var rest = command.arguments
    var isAdded = false
    var isPrivate = false
    while let word = rest.popFirst() {
      switch word {
      case "-a":
        isAdded = true
        guard let record = rest.popFirst(), record == "%i" || record.hasSuffix(".%i") || record.hasPrefix("%i.") else { return .lost }
      case "-d", "-f":
        if word == "-d" { self = HookNames() }
        _ = rest.popFirst()
      case "-m": _ = rest.popFirst()
      case "-p": isPrivate = true
      case "-x", "-u": break
      default: return .lost
      }
    }
    guard isAdded else { return .taken }
    guard let input = command.input else { return .lost }
    var servers: [String] = []
    var domains: [String] = []
    for line in input.split(whereSeparator: \.isNewline) {
      let words = line.split { $0 == " " || $0 == "\t" }.map(String.init)
      switch words.first {
      case "nameserver": servers += words.dropFirst()
      case "search", "domain": domains += words.dropFirst()
      case "options", nil: break
      default: return .lost
      }
    }
    guard takeServers(servers), takeDomains(domains) else { return .lost }
    if isPrivate { isDefaultRoute = false } else if routing.isEmpty { isForEveryName = true }
    return .taken
  }

  private static func boolean(_ text: String) -> Bool? {
    ["yes": true, "true": true, "on": true, "1": true, "no": false, "false": false, "off": false, "0": false][text.lowercased()]
  }

  private static func tls(_ value: String?) -> HookNamesOutcome {
    value.flatMap(boolean) == false ? .taken : .without("the tunnel's name servers are asked without TLS: the tunnel encrypts")
  }

  private static func validation(_ value: String?) -> HookNamesOutcome {
    value.flatMap(boolean) == false ? .taken : .without("DNSSEC of a link is for the host's resolver to set")
  }
}

extension HookNames {
  /// The policy, unless the file alone says the same. As systemd-resolved decides it: without `~.` and `default-route`, a name with a `~`
  /// makes the servers answer the link's own names alone.
  func policy(unlike file: HookNames) -> DNSPolicy? {
    if self == file, file.routing.isEmpty { return nil }
    if servers.isEmpty { return file.servers.isEmpty ? nil : DNSPolicy() }
    let isSplit = !isForEveryName && !(isDefaultRoute ?? routing.isEmpty)
    let names = (routing + search).uniqued()
    if isSplit, names.isEmpty { return file.servers.isEmpty ? nil : DNSPolicy() }
    let servers = servers.uniqued()
    let search = search.uniqued()
    let policy = DNSPolicy(servers: servers, searchDomains: search, matchDomains: isSplit ? names.map { .within($0) } : [])
    return !isSplit && servers == file.servers.uniqued() && search == file.search.uniqued() && file.routing.isEmpty ? nil : policy
  }

  /// Whether there are domains that no server answers.
  var lacksServers: Bool { servers.isEmpty && !(search + routing).isEmpty }
}

extension DNSPolicy {
  /// `dns: { servers: [10.0.0.53], match-domains: [corp.example] }`.
  var keyText: String {
    if servers.isEmpty { return "dns: none" }
    func list(_ key: String, _ items: [some CustomStringConvertible]) -> String? {
      items.isEmpty ? nil : "\(key): [\(items.map(\.description).joined(separator: ", "))]"
    }
    let parts = [list("servers", servers), list("search-domains", searchDomains), list("match-domains", matchDomains)]
    return "dns: { \(parts.compactMap(\.self).joined(separator: ", ")) }"
  }
}
