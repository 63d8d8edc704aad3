package import GatewayCore
internal import GatewayLogin
package import GatewayStore
internal import Glibc
internal import HostFindings
internal import KernelModel
internal import KernelNetwork
internal import KeyMemory
internal import LinuxIO
package import Metrics
internal import NetworkTypes
internal import SystemdIO

/// The gateway and its machine at one moment, read by commands. Changes nothing.
package struct HostExamination {
  private let folder: StateFolder
  private let known: StateFolder.Known
  private var view: GatewayStore.View { known.view }
  private let now = Timestamp.now.wholeSecond

  package init(_ folder: StateFolder) throws {
    self.folder = folder
    known = try folder.known()
  }

  private var isServing: Bool { folder.isServed }

  package func status() -> GatewayStatus {
    let link = view.directory.site?.link.description
    let device = link.flatMap { link in (try? kernel()).flatMap { $0.device(link, $0.engine(of: link)) } }
    let relayPort = ((try? folder.loginIdentity()) ?? nil) == nil ? nil : folder.relayPort()
    var status = GatewayStatus(directory: view.directory, isServing: isServing, device: device, relayPort: relayPort, now: now)
    status.away = away
    status.unserved = folder.unserved
    status.trial = FileTrial(folder).state.map {
      "on trial until \($0.end): \($0.files.joined(separator: ", ")); `roamward-gateway confirm` keeps them"
    }
    return status
  }

  /// The number of these devices that are connected now; `nil`: the link is not there, or access is denied.
  package static func countConnected(_ devices: [Device], of directory: Directory, _ folder: StateFolder) -> Int? {
    guard let link = directory.site?.link.description, let loop = try? EventLoop(),
      let kernel = try? GatewayKernel(folder, on: loop, log: { _ in }),
      let device = kernel.device(link, kernel.engine(of: link), peers: devices.map(\.publicKey))
    else { return nil }
    let status = GatewayStatus(directory: directory, isServing: folder.isServed, device: device, now: Timestamp.now.wholeSecond)
    return status.countConnected(devices)
  }

  /// The metrics of this moment. What a gateway has counted is of its last look, at most 15 seconds ago.
  package func metrics(version: String) -> [MetricFamily] {
    let status = status()
    var facts = GatewayMetrics.Facts()
    facts.traffic = view.directory.site.flatMap { Self.traffic(of: $0.link.description) }
    facts.lastReading = folder.lastReading
    facts.forwarding = Dictionary(uniqueKeysWithValues: (folder.forwards ? view.directory.families : []).map { ($0, Forwarding.isOn($0)) })
    facts.newestEntry = ((try? known.store?.newestEntries(1)) ?? nil)?.last?.sequence
    facts.partners = ((try? partners()) ?? nil)?.map(\.seen)
    if status.isServing {
      (facts.counts, facts.lastLook, facts.services) = (folder.counts, folder.lastLook, services)
      if status.relayPort != nil { facts.relayLimit = Int64(RelayTable.devices) }
    }
    return GatewayMetrics.families(status, facts, version: version)
  }

  /// Whether a running gateway offers what is enabled. One process has logins and relays.
  private var services: [GatewayMetrics.Service: Bool] {
    var found: [GatewayMetrics.Service: Bool] = [:]
    if ((try? folder.loginIdentity()) ?? nil) != nil {
      found[.logins] = folder.trouble(of: .logins) == nil
      if folder.relayPort() != nil { found[.relay] = folder.trouble(of: .relay) == nil && found[.logins] == true }
    }
    if folder.hasPage { found[.page] = folder.trouble(of: .page) == nil }
    return found
  }

  /// The other gateways with the same key that were there within a day; `nil`: the store is a file, or away.
  private func partners() throws -> [GatewayStore.Partner]? {
    guard let store = known.store, try folder.storeServer() != nil, let own = view.directory.site else { return nil }
    let (id, now) = (try? folder.gatewayID(), now)
    return try store.partners().filter { $0.publicKey == own.publicKey && $0.id != id && now - $0.seen < .seconds(86_400) }
  }

  /// The kernel's counters of a link; `nil`: there is no such link.
  private static func traffic(of link: String) -> GatewayMetrics.Traffic? {
    func count(_ name: String) -> Int64? {
      (try? TextFile.read("/sys/class/net/\(link)/statistics/\(name)", limit: 64)).flatMap {
        Int64(String(decoding: $0.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
      }
    }
    guard let received = count("rx_bytes"), let sent = count("tx_bytes"), let lostIn = count("rx_dropped"),
      let lostOut = count("tx_dropped")
    else { return nil }
    return GatewayMetrics.Traffic(receivedBytes: received, sentBytes: sent, receivedDropped: lostIn, sentDropped: lostOut)
  }

  /// The entries of the audit log after one, at most a page of them; `sequence` is `nil`: the newest one alone. `nil`: the store is away.
  package func entries(after sequence: Int64?) throws(StoreError) -> [AuditEntry]? {
    guard let store = known.store else { return nil }
    guard let sequence else { return try store.newestEntries(1) }
    return try store.entries(after: sequence)
  }

  /// A user, with what decides on this user's access.
  package func report(of name: GatewayName) throws -> UserReport {
    guard let user = view.directory.user(named: name) else { throw GatewayError.noUser(name) }
    let lock = user.isLocked ? try known.store?.newestEntry(of: "user lock", name.description) : nil
    return UserReport(user, status(), lock: lock, page: try folder.pageSettings())
  }

  /// The reason why the store cannot be read, and the age of the replica that is shown; `nil`: the store can be read.
  private var away: StoreAbsence? {
    known.failure.map {
      StoreAbsence(reason: $0.text, age: folder.lastReading.map { max(0, now.seconds - $0.seconds) }, staleAfter: folder.staleAfter)
    }
  }

  package func desired() throws -> GatewayState {
    guard let key = try folder.privateKey(), let site = view.directory.site,
      var state = GatewayState(
        view.directory, privateKey: key, engine: try kernel().engine(of: site.link.description), at: now)
    else { throw GatewayError.notInitialised }
    state.table.ownPorts = folder.ownPorts(site)
    return state
  }

  /// The steps that are left to do, as an administrator would type them.
  package func leftSteps() throws -> [String] {
    let state = try desired()
    let firewall: [String] =
      switch try GatewayFirewall(folder).drift(to: state.table) {
      case .none: []
      case .elements(let changes): changes.split(separator: "\n").map { "nft \($0)" }
      case .table: ["nft table \(GatewayTable.name): replaced"]
      }
    let families = view.directory.families
    let plan = try kernel().plan(to: state)
    return firewall + families.filter { folder.forwards && !Forwarding.isOn($0) }.map { "sysctl \(Forwarding.name($0))=1" }
      + (plan.conflict.map { [$0] } ?? plan.steps.map(\.description))
  }

  /// The facts that `doctor` judges; `isOffline`: without a question to an OpenID provider or to the server of a PAM service.
  package func condition(isOffline: Bool = false) throws -> GatewayCondition {
    var condition = GatewayCondition(directory: view.directory, now: now)
    condition.isInContainer = Container.isPresent
    condition.canChangeUser = Privileges.canChangeUser
    condition.away = away
    if let store = known.store {
      condition.storeProblems = try store.problems()
      condition.partners = try partners()?.map(\.host) ?? []
    }
    condition.hasConntrackd = Self.runs("conntrackd")
    condition.isServing = isServing
    condition.unserved = folder.unserved
    condition.loginTrouble = ((try? folder.loginIdentity()) ?? nil) == nil ? nil : folder.trouble(of: .logins)
    condition.relayTrouble = folder.relayPort() == nil ? nil : folder.trouble(of: .relay)
    do throws(GatewayError) {
      condition.pageTrouble = try folder.pageSettings() == nil ? nil : folder.trouble(of: .page)
    } catch { condition.settingsFindings.append(HostFinding("page", error)) }
    if let trouble = folder.trouble(of: .files) {
      condition.settingsFindings.append(HostFinding("files", GatewayError(trouble, help: "roamward-gateway check")))
    }
    condition.settingsFindings += GatewayRestore.findings(folder)
    condition.isRelayWithoutLogins = folder.relayPort() != nil && (try? folder.loginIdentity()) == .some(nil)
    condition.hasRightKey = (try? folder.privateKey())??.publicKey == view.directory.site?.publicKey
    condition.serviceFindings = isOffline ? [] : OpenIDExamination.findings(folder, view.directory) + PAMExamination.findings(folder)
    condition.notForwarded = view.directory.families.filter { folder.forwards && !Forwarding.isOn($0) }
    guard condition.hasRightKey, view.directory.site != nil else { return condition }
    // A gateway that runs takes a change of a moment ago, and repairs what others change: only what stays is a finding.
    let end = Moment.now + Self.patience
    repeat {
      let state = try desired()
      condition.isFirewallIntact = try GatewayFirewall(folder).drift(to: state.table) == .none
      let plan = try kernel().plan(to: state)
      condition.leftSteps = plan.conflict.map { [$0] } ?? plan.steps.map(\.description)
      if condition.isFirewallIntact, condition.leftSteps == [] { break }
      usleep(50_000)
    } while isServing && Moment.now < end
    return condition
  }

  private static let patience = Duration.seconds(2)

  /// Whether a program of this name runs (proc(5): `comm`).
  private static func runs(_ name: String) -> Bool {
    Folder.names(in: "/proc").contains { process in
      UInt32(process) != nil && (try? TextFile.read("/proc/\(process)/comm", limit: 64)).map { $0 == Array("\(name)\n".utf8) } ?? false
    }
  }

  private func kernel() throws -> GatewayKernel { try GatewayKernel(folder, on: try EventLoop()) { _ in } }
}

/// Removal of everything of the gateway's from this machine but its folder.
package enum HostCleanup {
  /// The steps of a cleanup, in words.
  package static func steps(_ folder: StateFolder) throws -> [String] {
    let kernel = try GatewayKernel(folder, on: EventLoop()) { _ in }
    return try kernel.stepsOfCleaning.map(\.description) + ["nft delete table \(GatewayTable.name)"]
  }

  package static func run(_ folder: StateFolder, log: @escaping (String) -> Void) throws {
    let loop = try EventLoop()
    let kernel = try GatewayKernel(folder, on: loop, log: log)
    let firewall = try GatewayFirewall(folder)
    // The link first: without the table, packets from devices would pass.
    let start = try loop.at(.now) {
      do throws(NetlinkError) { try kernel.clean { loop.stop() } } catch {
        log("\(error)")
        loop.stop(code: 1)
      }
    }
    let status = try withExtendedLifetime(start) { try loop.run() }
    guard status == 0 else { throw GatewayServer.StartFailure(description: "the link could not be removed; the firewall table stays") }
    log("nft delete table \(GatewayTable.name)")
    try firewall.remove()
  }
}
