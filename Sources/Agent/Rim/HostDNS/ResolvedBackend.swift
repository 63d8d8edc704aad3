internal import Glibc
package import KernelModel
internal import LinuxIO
internal import NetworkTypes
package import RoamwardCore
package import SystemdIO

/// Sets our links' name servers in systemd-resolved over the bus, and reads its state back (org.freedesktop.resolve1(5)).
///
/// Nothing blocks: the known state is stored. It is read again when the service returns, when its files change, and after each of our
/// changes. Settings of a link are removed with the link.
package final class ResolvedBackend {
  /// The time limit of a query.
  private static let patience = Duration.seconds(1)
  /// That of a change. The service makes it in the end, and until it is made again names go elsewhere: a slow one has more time.
  private static let changePatience = Duration.seconds(3)
  /// A service that has answered before counts as unavailable after this many queries without an answer. Until then its settings stay:
  /// taking them back because a busy machine is slow would send names elsewhere.
  private static let mostUnanswered = 3
  private static let service = "org.freedesktop.resolve1"
  private static let path = "/org/freedesktop/resolve1"
  private static let manager = "org.freedesktop.resolve1.Manager"

  private let loop: EventLoop
  private let busAddress: String?
  private let changed: () -> Void
  private var bus: SystemBus?
  /// Whether the service answers.
  private(set) package var answer: Answer<Bool> = .pending(reason: "it has not answered yet")
  private var links = ResolvedLinks()
  /// Servers set here at any time: its list of all servers may still include them.
  private(set) var lastServers: Set<IPAddress> = []
  /// The service's own validation; `nil`: not known.
  private(set) package var dnssec: DNSSECMode?
  private var pending = PendingChange()
  private var query = Query()
  private var backoff = Backoff(first: .seconds(1), longest: .seconds(30))
  /// The next query of a service that has not answered.
  private var retry: EventSource?
  private var notice: EventSource?

  /// The present change; at most one at a time.
  private struct PendingChange {
    /// The number of changes so far: it identifies an answer to an earlier one.
    var number = 0
    var completion: ((String?) -> Void)?
    var limit: EventSource?
  }

  /// The present query of all links; at most one at a time.
  private struct Query {
    /// The number of queries so far: it identifies an answer to an earlier one.
    var number = 0
    var isOpen = false
    /// Whether the state may have changed since it was sent.
    var isStale = false
    var limit: EventSource?
    /// The number of queries in a row without an answer.
    var unanswered = 0
    /// Called when it has ended.
    var completions: [() -> Void] = []
  }

  /// `changed`: called when its state differs from before.
  package init(on loop: EventLoop, busAddress: String? = nil, changed: @escaping () -> Void) {
    self.loop = loop
    self.busAddress = busAddress
    self.changed = changed
  }

  /// Connects, and tracks the state of these links (indexes and names); `nil`: disconnects, because the state is not needed.
  package func need(_ links: [UInt32: String]?) {
    guard let links else {
      bus?.disconnect()
      bus = nil
      retry = nil
      (query.isOpen, query.isStale) = (false, false)
      answer = .pending(reason: "it has not answered yet")
      self.links = ResolvedLinks()
      finishReading()
      return finishChange("it is not needed any more")
    }
    guard busAddress != nil || isNetworkOfFirstProcess() else {
      answer = .unavailable(reason: "it speaks for another network namespace than this one")
      return
    }
    let isMore = self.links.watch(links)
    if bus == nil { open() } else if isMore { refresh() }
  }

  /// Its last known settings of the links, by name.
  package var known: [String: LinkResolver] { links.known }

  /// Names of links that this agent has configured.
  package var touchedLinks: Set<String> { links.touchedNames }

  /// Names of other links that claim every name.
  package var rivalLinks: [String] { links.rivalNames }

  /// Whether it has answered, or will not.
  package var isSettled: Bool { if case .pending = answer { false } else { true } }

  // MARK: Changes

  /// Sets all of it; calls back after it was read back, with the error, or `nil`.
  package func set(_ resolver: LinkResolver, link: String, then done: @escaping (String?) -> Void) {
    let index = if_nametoindex(link)
    guard index > 0 else { return done("there is no link \(link)") }
    links.touch(index, link)
    lastServers.formUnion(resolver.servers)
    let number = BusArgument.int32(Int32(bitPattern: index))
    let servers = resolver.servers.map { server -> BusArgument in
      let address: [BusArgument] = [.int32(server.family == .v4 ? AF_INET : AF_INET6), .bytes(server.bytes)]
      return .structure(resolver.port.map { address + [.uint16($0), .string("")] } ?? address)
    }
    let setServers = resolver.port == nil ? ("SetLinkDNS", "(iay)") : ("SetLinkDNSEx", "(iayqs)")
    let domains = resolver.domains.map { BusArgument.structure([.string($0.name?.text ?? "."), .bool($0.isRoutingOnly)]) }
    // The tunnel's encryption suffices, and names of the local link are not the tunnel's.
    change(
      [
        ("SetLinkLLMNR", [number, .string("no")]), ("SetLinkMulticastDNS", [number, .string("no")]),
        ("SetLinkDNSOverTLS", [number, .string("no")]), ("SetLinkDNSSEC", [number, .string(resolver.dnssec?.rawValue ?? "")]),
        ("SetLinkDomains", [number, .array(of: "(sb)", domains)]), ("SetLinkDefaultRoute", [number, .bool(resolver.isDefaultRoute)]),
        (setServers.0, [number, .array(of: setServers.1, servers)]),
        ("FlushCaches", []),
      ], of: link, then: done)
  }

  /// Reverts all settings of the link.
  package func revert(link: String, then done: @escaping (String?) -> Void) {
    let index = if_nametoindex(link)
    guard index > 0 else { return done(nil) }
    change([("RevertLink", [.int32(Int32(bitPattern: index))]), ("FlushCaches", [])], of: link) { [weak self] problem in
      if problem == nil { self?.links.forget(index) }
      done(problem)
    }
  }

  /// Sends all calls at once: the service handles them in this order.
  private func change(_ calls: [(method: String, arguments: [BusArgument])], of link: String, then done: @escaping (String?) -> Void) {
    guard let bus, case .value = answer else { return done("systemd-resolved does not answer") }
    var open = calls.count
    var problem: String?
    pending.number += 1
    pending.completion = done
    let number = pending.number
    // The limit includes the read that follows.
    pending.limit = try? loop.at(.now + Self.changePatience + Self.patience * 2) { [weak self] in
      self?.finishChange("systemd-resolved did not answer in time")
    }
    for (method, arguments) in calls {
      bus.call(Self.service, Self.path, Self.manager, method, arguments, within: Self.changePatience) { [weak self] result in
        if case .failure(let error) = result, !(error.isUnknownMethod && !method.hasPrefix("SetLinkDNS") && method != "SetLinkDomains") {
          problem = problem ?? "systemd-resolved refuses \(method) for \(link): \(error)\(error.cure(of: link))"
        }
        open -= 1
        guard open == 0, let self else { return }
        // The state that it then shows is the result.
        query.completions.append { [weak self] in if let self, pending.number == number { finishChange(problem) } }
        refresh()
      }
    }
  }

  /// Ends the change, only once.
  private func finishChange(_ problem: String?) {
    let done = pending.completion
    (pending.completion, pending.limit) = (nil, nil)
    done?(problem)
  }

  // MARK: Reading

  /// Reads again, because the known state may be outdated.
  package func refresh() {
    guard bus != nil else { return finishReading() }
    if query.isOpen { query.isStale = true } else { ask() }
  }

  private func open() {
    let bus = SystemBus(on: loop, address: busAddress)
    self.bus = bus
    bus.opened = { [weak self, weak bus] in
      let owner =
        "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.service)'"
      bus?.match(owner) { values in self?.ownerChanged(isGone: values.count > 2 && values[2].text == "") }
      let properties = "interface='org.freedesktop.DBus.Properties',member='PropertiesChanged'"
      bus?.match("type='signal',sender='\(Self.service)',path_namespace='\(Self.path)',\(properties)") { _ in self?.refresh() }
      self?.refresh()
    }
    bus.closed = { [weak self] reason in
      self?.query.isOpen = false
      self?.query.number += 1
      self?.fell(silent: reason)
    }
    bus.connect()
  }

  private func ownerChanged(isGone: Bool) {
    if isGone {
      fell(silent: "it does not run")
    } else {
      backoff.reset()
      refresh()
    }
  }

  private func fell(silent reason: String) {
    take(.unavailable(reason: reason), [:])
    finishReading()
    finishChange("systemd-resolved: \(reason)")
  }

  /// Sends one query for each link, and one that shows whether the service runs.
  private func ask() {
    guard let bus else { return finishReading() }
    retry = nil
    (query.isOpen, query.isStale) = (true, false)
    query.number += 1
    let number = query.number
    // A bus that accepts a connection and then stays silent has no time limits of its own.
    query.limit = try? loop.at(.now + Self.patience * 1.5) { [weak self] in
      guard let self, query.isOpen, query.number == number else { return }
      query.number += 1
      heard([:], BusError(name: "org.freedesktop.DBus.Error.Timeout", message: ""))
    }
    var found: [UInt32: LinkResolver] = [:]
    var failure: BusError?
    var open = links.watched.count + 2
    let answered = { [weak self] in
      open -= 1
      if let self, open == 0, query.number == number { heard(found, failure) }
    }
    bus.call(
      Self.service, Self.path, "org.freedesktop.DBus.Properties", "Get", [.string(Self.manager), .string("Domains")], within: Self.patience
    ) { [weak self] result in
      switch result {
      case .failure(let error): failure = error
      case .success(let values): self?.links.claimants = claimsOfRoot(values.first)
      }
      answered()
    }
    bus.call(
      Self.service, Self.path, "org.freedesktop.DBus.Properties", "Get", [.string(Self.manager), .string("DNSSEC")], within: Self.patience
    ) { [weak self] result in
      if case .success(let values) = result { self?.dnssec = values.first?.text.flatMap { DNSSECMode(rawValue: $0) } }
      answered()
    }
    for index in links.watched.keys {
      bus.call(
        Self.service, "\(Self.path)/link/_3\(index)", "org.freedesktop.DBus.Properties", "GetAll",
        [.string("org.freedesktop.resolve1.Link")], within: Self.patience
      ) { result in
        switch result {
        case .success(let values): found[index] = values.first.flatMap(LinkResolver.init(properties:))
        case .failure(let error) where error.isTimeout: failure = error
        // A link that is gone, or that it has not seen yet, is no failure of the service.
        case .failure: break
        }
        answered()
      }
    }
  }

  private func heard(_ found: [UInt32: LinkResolver], _ failure: BusError?) {
    query.isOpen = false
    query.limit = nil
    if let failure, failure.isTimeout, case .value = answer, query.unanswered + 1 < Self.mostUnanswered {
      query.unanswered += 1
      retry = try? loop.at(.now + backoff.fail()) { [weak self] in self?.refresh() }
    } else if let failure {
      take(.unavailable(reason: failure.isAbsence ? "it does not run" : failure.description), [:])
      // A running service that does not answer is queried again; the start of one is announced by a signal.
      if !failure.isAbsence {
        retry = try? loop.at(.now + backoff.fail()) { [weak self] in self?.refresh() }
      }
    } else {
      bus?.isWell()
      query.unanswered = 0
      backoff.reset()
      take(.value(true), found)
    }
    if query.isStale { ask() } else { finishReading() }
  }

  private func take(_ new: Answer<Bool>, _ found: [UInt32: LinkResolver]) {
    let isNew = links.take(found)
    guard isNew || new != answer else { return }
    answer = new
    // The notification waits until a query in progress has returned.
    notice = try? loop.at(.now) { [changed] in changed() }
  }

  private func finishReading() {
    let waiting = query.completions
    query.completions = []
    for done in waiting { done() }
  }
}

/// Links that claim every name. `Domains` of the manager is a(isb): link, name, whether it only routes.
private func claimsOfRoot(_ domains: BusValue?) -> Set<UInt32> {
  let claims = (domains?.list ?? []).filter { $0[1]?.text == "." }.compactMap { $0[0]?.unsigned.flatMap { UInt32(exactly: $0) } }
  return Set(claims.filter { $0 > 0 })
}

extension LinkResolver {
  /// Properties of the interface org.freedesktop.resolve1.Link: `DNS` is a(iay), `Domains` a(sb), `DefaultRoute` b.
  init?(properties: BusValue) {
    guard let servers = properties["DNS"]?.list, let domains = properties["Domains"]?.list else { return nil }
    self.init(
      servers: servers.compactMap { $0[1]?.bytes.flatMap { IPAddress(bytes: $0) } },
      domains: domains.compactMap { domain in
        guard let text = domain[0]?.text, let isRouting = domain[1]?.bool else { return nil }
        return Domain(DomainName(text), isRoutingOnly: isRouting)
      }, isDefaultRoute: properties["DefaultRoute"]?.bool ?? false)
    dnssec = properties["DNSSEC"]?.text.flatMap { DNSSECMode(rawValue: $0) }
  }
}

extension BusError {
  fileprivate var isUnknownMethod: Bool { name == "org.freedesktop.DBus.Error.UnknownMethod" }

  /// The remedy for LinkBusy: systemd-networkd itself sets the name servers of the links that it manages.
  fileprivate func cure(of link: String) -> String {
    name == "org.freedesktop.resolve1.LinkBusy"
      ? " (systemd-networkd manages \(link); cure: a .network file of its own with `Unmanaged=yes` for it)" : ""
  }
}
