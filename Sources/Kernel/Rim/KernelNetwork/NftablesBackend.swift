internal import CNftables
internal import Glibc
package import KernelModel
import Wire

/// Our tables of nftables: that of the kill switch with its small companion for ARP, and that of `names: capture`. Each is read, replaced
/// as a whole, removed. They belong to the network namespace of the thread that created this.
///
/// The input of nftables cannot be compared with its listing. So the listing after a replacement is stored, and compared with later ones.
/// The kernel numbers its rulesets. While the number is the same, nothing is listed.
package final class NftablesBackend {
  /// The known state of a table of ours.
  private struct Known {
    /// Its name, and that of its companion.
    let names: [String]
    /// The kernel's listing after the last replacement, and the digest of its content.
    var listing: (digest: String, text: String)?
    var refusal: (digest: String, reason: String)?
    /// The digest after a replacement whose listing is still to be stored.
    var unlisted: String?
    /// The state of the table, and the number of the ruleset that has it.
    var last: (generation: UInt32, isTrusting: Bool, observed: ObservedFirewall)?
    /// The number of the ruleset at the last call of `observe`.
    var observedAt: UInt32?

    mutating func forget() { (listing, refusal, unlisted, last) = (nil, nil, nil, nil) }
  }

  private let context: OpaquePointer
  /// Whether the kernel lets this user ask it for tables. libnftables would tell the terminal.
  private let isDenied: Bool
  /// `nil`: rulesets have no numbers here.
  private let numbers: RulesetNumbers?
  /// Whether the kernel takes both tables of the kill switch in one transaction; `nil`: not tried yet.
  private var takesCompanion: Bool?
  /// The table that was written last, with the paths of its groups.
  private var written: FirewallTable?
  private var firewall = Known(names: [FirewallTable.name, FirewallTable.neighbourName])
  private var capture = Known(names: [NameCapture.name])

  /// The number of texts that libnftables has been given.
  package private(set) var commandCount = 0
  /// Added to the companion's transaction, for tests of a kernel that refuses it.
  package var companionSuffix = ""

  /// The descriptor of the folder of a control group with this number, in this process: of that of providers, or of one of a guard.
  package var groupFolder: (UInt64) -> Int32? = { _ in nil }

  package init() throws(NftablesError) {
    var reason: UnsafePointer<CChar>?
    guard let context = cnft_new(&reason) else { throw NftablesError(reason.map { String(cString: $0) } ?? "") }
    self.context = context
    isDenied = Self.answer(to: FirewallTable.kernelName) == EPERM
    numbers = try? RulesetNumbers()
  }

  deinit { cnft_free(context) }

  /// Whether the kernel says that there is no table of this name. Loads no library; false if the kernel gives no clear answer.
  package static func isSurelyAbsent(_ table: String = FirewallTable.kernelName) -> Bool { answer(to: table) == ENOENT }

  /// The kernel's error if it is asked for a table; 0: there is one.
  static func answer(to table: String) -> Int32 {
    do throws(NetlinkError) {
      let socket = try NetlinkSocket(.netfilter, receiveBuffer: 1 << 16)
      try socket.request("look for our firewall table") { $0.getTable(named: table, sequence: $1, flags: $2) }
      return 0
    } catch {
      return error.code
    }
  }

  /// The state of the kill switch's table. A table of another agent is not known to be intact, unless its comment is trusted (`trusting`);
  /// replacing it costs a millisecond.
  package func observe(trusting: Bool = false) -> ObservedFirewall { observe(\.firewall, trusting: trusting) }

  /// The same of the table of `names: capture`.
  package func observeCapture(trusting: Bool = false) -> ObservedFirewall { observe(\.capture, trusting: trusting) }

  /// The number of the ruleset that every table was observed in last; `nil`: of none, or of several.
  package var observedRuleset: UInt32? {
    let numbers = Set([firewall.observedAt, capture.observedAt].compactMap { $0 })
    return numbers.count == 1 ? numbers.first : nil
  }

  /// The number of the present ruleset; `nil`: the kernel gives none.
  package var presentRuleset: UInt32? { numbers?.present }

  private func observe(_ table: ReferenceWritableKeyPath<NftablesBackend, Known>, trusting: Bool) -> ObservedFirewall {
    let generation = numbers?.present
    self[keyPath: table].observedAt = generation
    if let generation, let last = self[keyPath: table].last, (last.generation, last.isTrusting) == (generation, trusting) {
      return last.observed
    }
    let (observed, text) = examine(self[keyPath: table], trusting: trusting)
    self[keyPath: table].last = nil
    guard let generation, numbers?.present == generation else {
      self[keyPath: table].observedAt = nil
      return observed
    }
    if Self.isOfRuleset(text) { self[keyPath: table].last = (generation, trusting, observed) }
    return observed
  }

  /// Whether a listing follows from the ruleset alone. The path of a control group may change without it.
  private static func isOfRuleset(_ text: String) -> Bool { !text.contains("cgroupv2") }

  private func examine(_ known: Known, trusting: Bool) -> (observed: ObservedFirewall, text: String) {
    if isDenied { return (.denied, "") }
    let text: String
    do {
      text = try list(known)
    } catch {
      if let refusal = known.refusal { return (.refused(digest: refusal.digest, reason: refusal.reason), "") }
      return (error.isMissing ? .absent : .unknown(reason: error.description), "")
    }
    if let refusal = known.refusal { return (.refused(digest: refusal.digest, reason: refusal.reason), text) }
    let digest = Self.digest(in: text) ?? ""
    let isIntact = known.listing.map { $0.digest == digest && $0.text == text } ?? trusting
    return (.table(digest: digest, isIntact: isIntact, isGuarding: Self.isGuarding(text)), text)
  }

  /// Whether a table with this text blocks something: traffic of the whole machine, or of programs of one tunnel.
  private static func isGuarding(_ text: String) -> Bool { ["chain output", "chain programs"].contains { text.contains($0) } }

  /// The kill switch's table as the kernel lists it, line by line; `nil` if there is none, or access is denied.
  package var lines: [String]? { (try? run("list table \(FirewallTable.name)"))?.split(separator: "\n").map(String.init) }

  /// Other programs' tables that drop outgoing packets by default; none if access is denied.
  package var closedTables: [ClosedTable] { (try? run("list chains")).map(ClosedTable.all) ?? [] }

  /// Replaces the present table, if any, in one transaction.
  package func replace(_ table: FirewallTable) throws(NftablesError) {
    // Not every kernel has nftables for ARP; without it, ARP is visible, but no traffic flows.
    var table = table
    // libnftables looks for groups below /sys/fs/cgroup alone; the hierarchy may be mounted elsewhere, or in no folder.
    for i in table.providers.indices { table.providers[i].path = path(of: table.providers[i]) }
    for i in table.guarded.indices { table.guarded[i].group.path = path(of: table.guarded[i].group) }
    let companion = table.neighbourTransaction + companionSuffix
    if let change = unchanged.flatMap(table.transaction),
      (try? replace(\.firewall, change, digest: table.digest, thenTrying: companion)) != nil
    {
      written = table
      return
    }
    written = nil
    try replace(\.firewall, table.transaction, digest: table.digest, thenTrying: companion)
    written = table
  }

  /// The table that was written last, if nothing has changed the ruleset since.
  private var unchanged: FirewallTable? {
    guard let last = firewall.last, let numbers, last.generation == numbers.present, case .table(_, true, _) = last.observed else {
      return nil
    }
    return written
  }

  private func path(of group: ProviderGroup) -> String? { groupFolder(group.number).map { "../../../proc/self/fd/\($0)" } }

  /// The same with the table of `names: capture`.
  package func replace(_ capture: NameCapture) throws(NftablesError) {
    try replace(\.capture, capture.transaction, digest: capture.digest, thenTrying: nil)
  }

  private func replace(
    _ table: ReferenceWritableKeyPath<NftablesBackend, Known>, _ transaction: String, digest: String, thenTrying companion: String?
  ) throws(NftablesError) {
    self[keyPath: table].forget()
    let after: UInt32?
    do throws(NftablesError) {
      after = try change { () throws(NftablesError) in try run(transaction, thenTrying: companion) }
    } catch {
      self[keyPath: table].refusal = (digest, error.description)
      throw error
    }
    // Then the kernel has what it took, and the listing can wait.
    if let after, companion == nil || takesCompanion == true, Self.isOfRuleset(transaction) {
      self[keyPath: table].unlisted = digest
      let isGuarding = Self.isGuarding(transaction)
      self[keyPath: table].last = (after, false, .table(digest: digest, isIntact: true, isGuarding: isGuarding))
    } else {
      self[keyPath: table].listing = (digest, try list(self[keyPath: table]))
    }
  }

  /// Runs a transaction. Returns the number of the ruleset after it, if that is the next one: then no other has changed anything, and
  /// what was known of the other table still holds.
  private func change(_ run: () throws(NftablesError) -> Void) throws(NftablesError) -> UInt32? {
    let before = numbers?.present
    try run()
    guard let before, let after = numbers?.present, after == before &+ 1 else { return nil }
    for table in [\NftablesBackend.firewall, \NftablesBackend.capture] where self[keyPath: table].last?.generation == before {
      self[keyPath: table].last?.generation = after
    }
    return after
  }

  /// Runs both in one transaction if the kernel takes that, else one after the other; the second may fail.
  private func run(_ transaction: String, thenTrying companion: String?) throws(NftablesError) {
    guard let companion else { return _ = try run(transaction) }
    if takesCompanion != false, (try? run(transaction + companion)) != nil { return takesCompanion = true }
    _ = try run(transaction)
    let isTaken = (try? run(companion)) != nil
    if takesCompanion == nil { takesCompanion = isTaken }
  }

  /// Whether a listing is still to be stored.
  package var isUnlisted: Bool { firewall.unlisted != nil || capture.unlisted != nil }

  /// Stores the listings after replacements, for a time when nothing waits for it. Until then any other change of the ruleset makes a
  /// table count as changed.
  package func storeListings() {
    for table in [\NftablesBackend.firewall, \NftablesBackend.capture] {
      guard let digest = self[keyPath: table].unlisted else { continue }
      self[keyPath: table].unlisted = nil
      guard let generation = numbers?.present, generation == self[keyPath: table].last?.generation,
        let text = try? list(self[keyPath: table]), numbers?.present == generation
      else { continue }
      self[keyPath: table].listing = (digest, text)
      // The memory that a long list took.
      if text.utf8.count > 1 << 20 { cnft_give_back() }
    }
  }

  private func list(_ known: Known) throws(NftablesError) -> String {
    let text = try run("list table \(known.names[0])")
    return text + known.names.dropFirst().map { (try? run("list table \($0)")) ?? "" }.joined()
  }

  package func remove() throws(NftablesError) {
    firewall.forget()
    written = nil
    _ = try change { () throws(NftablesError) in try run(FirewallTable.removal, thenTrying: FirewallTable.neighbourRemoval) }
  }

  package func removeCapture() throws(NftablesError) {
    capture.forget()
    _ = try change { () throws(NftablesError) in _ = try run(NameCapture.removal) }
  }

  private func run(_ commands: String) throws(NftablesError) -> String {
    if isDenied { throw .denied }
    commandCount += 1
    let status = cnft_run(context, commands)
    // Reading them also empties them for the next command.
    let output = cnft_output(context).map { String(cString: $0) } ?? ""
    let error = cnft_error(context).map { String(cString: $0) } ?? ""
    if status != 0 { throw NftablesError(error) }
    return output
  }

  /// From the comment of the table, or of a chain.
  private static func digest(in listing: String) -> String? {
    let mark = Array("comment \"roamward ".utf8)
    return listing.utf8.withContiguousStorageIfAvailable { bytes in
      var place = 0
      while place + mark.count <= bytes.count {
        if bytes[place] == mark[0], bytes[place..<place + mark.count].elementsEqual(mark) {
          return String(decoding: bytes[(place + mark.count)...].prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
        }
        place += 1
      }
      return nil
    } ?? nil
  }
}

/// An error of nftables, with its own text: the line, and a caret under it.
package struct NftablesError: Error, Equatable, Sendable, CustomStringConvertible {
  package let text: String

  init(_ text: String) { self.text = text }

  /// The error of a user who may not ask.
  static let denied = NftablesError("Operation not permitted")

  /// Whether the table does not exist.
  var isMissing: Bool { text.contains("No such file or directory") }

  /// Its first line.
  package var description: String {
    let first = text.split(separator: "\n").first.map(String.init) ?? "no reason given"
    return "nftables: \(first)"
  }
}
