import KernelModel
import NetworkTypes
import PolicySource
import RoamwardCore

/// The lines of a wg-quick file that run programs, judged by what is lost without them. Nothing of them is ever run.
struct WireGuardHooks {
  enum Moment: String { case preUp = "PreUp", postUp = "PostUp", preDown = "PreDown", postDown = "PostDown" }

  /// The report for one line.
  struct Judgement: Equatable {
    var outcome: ImportReport.Outcome
    var text: String
    var weight: ImportReport.Weight
  }

  /// By the number of the line.
  private(set) var judgements: [Int: Judgement] = [:]
  private(set) var dns: DNSPolicy?
  private(set) var isKillSwitch = false
  private(set) var routes = RoutePolicy()
  /// Reasons why the tunnel would be another one without these lines.
  private(set) var obstacles: [String] = []
}

/// The meaning of one command.
private enum HookMeaning: Equatable {
  case names, firewall, route(IPPrefix)
  /// The agent does it, or nothing depends on it.
  case needless(String)
  /// The tunnel works without it; the text says what is lost.
  case lost(String)
  /// The tunnel would be another one without it.
  case scope(String)
}

extension WireGuardHooks {
  /// - Parameters:
  ///   - link: the name that the file's link has with wg-quick.
  ///   - file: the name servers of the file itself.
  init(
    _ lines: [(number: Int, moment: Moment, text: String)], link: String, file: HookNames, of configuration: WireGuardQuickConfiguration?
  ) {
    var names = file
    var firewall = HookFirewall()
    let endpoints = (configuration?.peers ?? []).compactMap(\.endpoint)
    firewall.endpoints = Set(endpoints.map(\.host.description))
    firewall.endpointPorts = Set(endpoints.map { String($0.port) })
    firewall.included = (configuration?.peers ?? []).flatMap(\.allowedIPs)
    var meanings: [(number: Int, meanings: [HookMeaning])] = []
    for line in lines {
      let commands = HookCommand.commands(in: line.text, link: link)
      let found = commands?.map { Self.meaning($0, line.moment, &names, &firewall) } ?? [.lost(Self.unknownProgram)]
      meanings.append((line.number, found))
    }
    let named = meanings.flatMap(\.meanings).compactMap { if case .route(let prefix) = $0 { prefix } else { nil } }
    let isBeside = !named.isEmpty && configuration?.routesFromAllowedIPs != false
    routes.include = PrefixList(((isBeside ? firewall.included : []) + named).uniqued())
    dns = names.policy(unlike: file)
    let switching = take(firewall)
    for (number, found) in meanings { judgements[number] = judgement(found, names: names, switching) }
    obstacles = (obstacles + meanings.flatMap(\.meanings).compactMap { if case .scope(let text) = $0 { text } else { nil } }).uniqued()
  }

  private static let unknownProgram =
    "no programs are run from a WireGuard file; if this one sets name servers, routes or a kill switch, write `dns`, `routes` or"
    + " `kill-switch` into the policy"

  /// Makes the firewall's rules keys of the policy; the report for their lines.
  private mutating func take(_ firewall: HookFirewall) -> Judgement {
    switch firewall.meaning {
    case .killSwitch(let allowsLAN, let stricter):
      isKillSwitch = true
      var text = "kill-switch: on, which blocks from when the tunnel is wanted"
      if allowsLAN {
        text += "; the local network stays reachable (lan: allow)"
      } else if firewall.included.coverEverything {
        routes.lan = .block
        text += "; the local network is blocked as well (routes: lan: block)"
      }
      if stricter { text += "; some of what the file lets pass is blocked too: write it into `routes: exclude:`" }
      return Judgement(outcome: .changed, text: text, weight: stricter ? .warning : .plain)
    case .unknown:
      obstacles.append(
        "its firewall rules block what no key of a policy blocks in the same way; if they are a kill switch, write `kill-switch: on`")
      return Judgement(outcome: .dropped, text: "rules of a firewall that are not understood", weight: .warning)
    case .none:
      let text = firewall.losses.uniqued().joined(separator: "; ")
      return Judgement(outcome: .dropped, text: text.isEmpty ? "rules of a firewall are not taken over" : text, weight: .warning)
    }
  }

  private func judgement(_ found: [HookMeaning], names: HookNames, _ switching: Judgement) -> Judgement {
    var changes: [String] = []
    var losses: [String] = []
    var reasons: [String] = []
    for meaning in found {
      switch meaning {
      case .names where names.lacksServers: losses.append("domains without a name server that answers for them are left out")
      case .names: changes.append(dns?.keyText ?? "its name servers are those of the tunnel already")
      case .firewall where switching.outcome == .changed && switching.weight == .plain: changes.append(switching.text)
      case .firewall:
        if switching.outcome == .changed { changes.append("kill-switch: on") }
        losses.append(switching.text)
      case .route(let prefix): changes.append("routes: include: \(prefix)")
      case .needless(let text): reasons.append(text)
      case .lost(let text), .scope(let text): losses.append(text)
      }
    }
    (changes, losses, reasons) = (changes.uniqued(), losses.uniqued(), reasons.uniqued())
    if !losses.isEmpty {
      return Judgement(
        outcome: changes.isEmpty ? .dropped : .changed, text: (changes + losses).joined(separator: "; "), weight: .warning)
    }
    return changes.isEmpty
      ? Judgement(outcome: .dropped, text: reasons.joined(separator: "; "), weight: .plain)
      : Judgement(outcome: .changed, text: changes.joined(separator: "; "), weight: .plain)
  }

  private static func meaning(
    _ command: HookCommand, _ moment: Moment, _ names: inout HookNames, _ firewall: inout HookFirewall
  ) -> HookMeaning {
    let isDown = moment == .preDown || moment == .postDown
    // Of the commands at the end nothing is taken over, because the agent undoes all that it did.
    var namesHere = names
    switch namesHere.take(command) {
    case .other: break
    case _ where isDown: return .needless("the agent undoes what it set")
    case .taken where moment == .preUp: return .lost("it names a link that is not there yet")
    case .taken:
      names = namesHere
      return .names
    case .lost: return .lost("its name servers are lost: write `dns: { servers: [ADDRESS], match-domains: [DOMAIN] }` into the policy")
    case .without(let text): return .lost(text)
    }
    var firewallHere = firewall
    if let result = firewallHere.take(command) {
      switch result {
      case .undo: return .needless("the agent undoes what it set")
      case .nothing:
        firewall = firewallHere
        return .needless("nothing depends on it")
      case .notUnderstood:
        return isDown
          ? .needless("the agent undoes what it set")
          : .scope("its firewall rules are not understood; if they are a kill switch, write `kill-switch: on`")
      case .rule(let rule) where isDown:
        return rule.verdict == .block
          ? .scope("it blocks traffic while the tunnel is down, as `kill-switch: always` does") : .needless("the agent undoes what it set")
      case .rule(let rule) where rule.verdict == .mark:
        return .scope("it marks packets, so that rules of routing choose what goes into the tunnel; write `routes`")
      case .rule:
        firewall = firewallHere
        return .firewall
      }
    }
    return command.routing(isDown: isDown, endpoints: firewall.endpoints) ?? command.rest(isDown: isDown, unknownProgram)
  }
}

extension HookCommand {
  /// The meaning of commands that lead packets; `nil`: it is none.
  fileprivate func routing(isDown: Bool, endpoints: Set<String>) -> HookMeaning? {
    let words = Array(arguments.drop { $0.hasPrefix("-") })
    let isIPv6 = arguments.contains("-6") || arguments.contains("-family") && arguments.contains("inet6")
    let object = words.first ?? ""
    let isRoute = program == "ip" && ["r", "ro", "route"].contains(object)
    guard ["ip", "route", "wg", "awg"].contains(program) else { return nil }
    if isDown { return .needless("the agent undoes what it set") }
    if program == "wg" || program == "awg" {
      let verbs = ["set", "setconf", "addconf", "syncconf"]
      guard verbs.contains(object) else { return .needless("nothing depends on it") }
      if object == "set", words.contains("private-key"), !words.contains("peer") {
        return .lost("the private key comes from elsewhere; write it after `PrivateKey`")
      }
      return .scope("it changes the tunnel's peers after its start")
    }
    guard isRoute else {
      if ["link", "l"].contains(object), !words.contains("netns"), !words.contains("master") {
        return .needless("the agent sets up its link")
      }
      if ["addr", "a", "address", "neigh", "rule", "ru", "netns", "link", "l", "tunnel"].contains(object) || program == "route" {
        return .scope("it changes addresses, or what goes into the tunnel, after its start; write `routes`")
      }
      return .needless("nothing depends on it")
    }
    let verb = words.dropFirst().first ?? ""
    if ["show", "list", "get", "flush", "s", "ls"].contains(verb) { return .needless("nothing depends on it") }
    var rest = words.dropFirst(2)
    if ["unicast", "blackhole", "unreachable", "prohibit"].contains(rest.first ?? "") {
      if rest.first != "unicast" { return .scope("it makes addresses unreachable after the tunnel's start") }
      rest.removeFirst()
    }
    guard let place = rest.popFirst(), ["add", "append", "replace", "a", "change"].contains(verb) else {
      return .scope("it removes routes after the tunnel's start; write `routes`")
    }
    let host = place.split(separator: "/").first.map(String.init) ?? place
    if endpoints.contains(host), IPAddress(host).map({ [$0.description, "\($0)/32", "\($0)/128"].contains(place) }) ?? true {
      return .needless("the tunnel's own packets find their way to the endpoint")
    }
    let prefix = place == "default" ? IPPrefix.everything(isIPv6 ? .v6 : .v4) : IPPrefix(place) ?? IPAddress(place).map { .host($0) }
    var isInside = false
    while let key = rest.popFirst() {
      let value = rest.popFirst()
      switch key {
      case "dev": isInside = value == "%i"
      case "table": if value != "main" { return .scope("it puts routes into a table that rules choose; write `routes`") }
      case "metric", "proto", "scope", "src", "mtu": break
      default: return .scope("it leads addresses elsewhere after the tunnel's start; write `routes: exclude:`")
      }
    }
    guard isInside, let prefix else { return .scope("it leads addresses elsewhere after the tunnel's start; write `routes`") }
    return .route(prefix)
  }

  fileprivate func rest(isDown: Bool, _ unknown: String) -> HookMeaning {
    switch program {
    case "true", ":", "sleep", "logger", "echo", "printf", "ping", "notify-send", "touch", "rm", "mkdir", "cat", "date", "which", "type",
      "sync", "hash":
      output == nil || output?.hasPrefix("/var/log/") == true || output?.hasPrefix("/tmp/") == true
        || output?.hasPrefix("/run/") == true
        ? .needless("no programs are run from a WireGuard file; the tunnel is the same without it")
        : output?.hasPrefix("/proc/sys/") == true ? sysctl : .lost(unknown)
    case "sysctl": sysctl
    case "systemctl", "service":
      words.contains { $0.contains("resolved") } || isDown
        ? .needless("nothing depends on it")
        : .lost("no services are started or stopped with the tunnel; the provider `command` of another tunnel, or the unit itself, can")
    default: .lost(isDown ? "no programs are run from a WireGuard file" : unknown)
    }
  }

  private var sysctl: HookMeaning {
    let isForwarding = (words + [output ?? ""]).contains { $0.contains("forward") }
    return isForwarding
      ? .lost("forwarding for other machines is the machine's own setting; set it in /etc/sysctl.d")
      : .needless("the agent sets what its tunnels need")
  }
}
