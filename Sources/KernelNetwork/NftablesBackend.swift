internal import CNftables
internal import Glibc
package import KernelModel
import Wire

/// Our tables of nftables: that of the kill switch with its small companion for ARP, and that of `names: capture`. Each is read, replaced
/// as a whole, removed. They belong to the network namespace of the thread that created this.
///
/// The input of nftables cannot be compared with its listing. So the listing after a replacement is stored, and compared with later ones.
package final class NftablesBackend {
  /// What is known of a table of ours.
  private struct Known {
    /// Its name, and that of its companion.
    let names: [String]
    /// The kernel's listing after the last replacement, and the digest of its content.
    var listing: (digest: String, text: String)?
    var refusal: (digest: String, reason: String)?
  }

  private let context: OpaquePointer
  private var firewall = Known(names: [FirewallTable.name, FirewallTable.neighbourName])
  private var capture = Known(names: [NameCapture.name])

  /// The descriptor of the folder of a control group with this number, in this process: of that of providers, or of one of a guard.
  package var groupFolder: (UInt64) -> Int32? = { _ in nil }

  package init() throws(NftablesError) {
    var reason: UnsafePointer<CChar>?
    guard let context = cnft_new(&reason) else { throw NftablesError(reason.map { String(cString: $0) } ?? "") }
    self.context = context
  }

  deinit { cnft_free(context) }

  /// Whether the kernel says that there is no table of this name. Loads no library; false if the kernel gives no clear answer.
  package static func isSurelyAbsent(_ table: String = FirewallTable.kernelName) -> Bool {
    do throws(NetlinkError) {
      let socket = try NetlinkSocket(.netfilter, receiveBuffer: 1 << 16)
      try socket.request("look for our firewall table") { $0.getTable(named: table, sequence: $1, flags: $2) }
      return false
    } catch {
      return error.code == ENOENT
    }
  }

  /// The state of the kill switch's table. A table of another agent is not known to be intact, unless its comment is trusted (`trusting`);
  /// replacing it costs a millisecond.
  package func observe(trusting: Bool = false) -> ObservedFirewall { observe(firewall, trusting: trusting) }

  /// The same of the table of `names: capture`.
  package func observeCapture(trusting: Bool = false) -> ObservedFirewall { observe(capture, trusting: trusting) }

  private func observe(_ known: Known, trusting: Bool) -> ObservedFirewall {
    let text: String
    do {
      text = try list(known)
    } catch {
      if let refusal = known.refusal { return .refused(digest: refusal.digest, reason: refusal.reason) }
      return error.isMissing ? .absent : .unknown(reason: error.description)
    }
    if let refusal = known.refusal { return .refused(digest: refusal.digest, reason: refusal.reason) }
    let digest = Self.digest(in: text) ?? ""
    return .table(
      digest: digest, isIntact: known.listing.map { $0.digest == digest && $0.text == text } ?? trusting,
      isGuarding: text.contains("chain output"))
  }

  /// The kill switch's table as the kernel lists it, line by line; `nil` if there is none, or access is denied.
  package var lines: [String]? { (try? run("list table \(FirewallTable.name)"))?.split(separator: "\n").map(String.init) }

  /// Other programs' tables that drop outgoing packets by default; none if access is denied.
  package var closedTables: [ClosedTable] { (try? run("list chains")).map(ClosedTable.all) ?? [] }

  /// Replaces the present table, if any, in one transaction.
  package func replace(_ table: FirewallTable) throws(NftablesError) {
    // Not every kernel has nftables for ARP; without it, ARP is visible, but no traffic flows.
    var table = table
    // libnftables looks for groups below /sys/fs/cgroup alone; the hierarchy may be mounted elsewhere, or in no folder.
    if let group = table.providers { table.providers?.path = path(of: group) }
    for i in table.guarded.indices { table.guarded[i].group.path = path(of: table.guarded[i].group) }
    try replace(&firewall, table.transaction, digest: table.digest, thenTrying: table.neighbourTransaction)
  }

  private func path(of group: ProviderGroup) -> String? { groupFolder(group.number).map { "../../../proc/self/fd/\($0)" } }

  /// The same with the table of `names: capture`.
  package func replace(_ capture: NameCapture) throws(NftablesError) {
    try replace(&self.capture, capture.transaction, digest: capture.digest, thenTrying: nil)
  }

  private func replace(
    _ known: inout Known, _ transaction: String, digest: String, thenTrying companion: String?
  ) throws(NftablesError) {
    known.listing = nil
    known.refusal = nil
    do throws(NftablesError) {
      _ = try run(transaction)
    } catch {
      known.refusal = (digest, error.description)
      throw error
    }
    if let companion { _ = try? run(companion) }
    known.listing = (digest, try list(known))
  }

  private func list(_ known: Known) throws(NftablesError) -> String {
    let text = try run("list table \(known.names[0])")
    return text + known.names.dropFirst().map { (try? run("list table \($0)")) ?? "" }.joined()
  }

  package func remove() throws(NftablesError) {
    (firewall.listing, firewall.refusal) = (nil, nil)
    _ = try run(FirewallTable.removal)
    _ = try? run(FirewallTable.neighbourRemoval)
  }

  package func removeCapture() throws(NftablesError) {
    (capture.listing, capture.refusal) = (nil, nil)
    _ = try run(NameCapture.removal)
  }

  private func run(_ commands: String) throws(NftablesError) -> String {
    let status = cnft_run(context, commands)
    // Reading them also empties them for the next command.
    let output = cnft_output(context).map { String(cString: $0) } ?? ""
    let error = cnft_error(context).map { String(cString: $0) } ?? ""
    if status != 0 { throw NftablesError(error) }
    return output
  }

  /// The comment is the first line of the table.
  private static func digest(in listing: String) -> String? {
    let mark = "comment \"roamward "
    for line in listing.split(separator: "\n").prefix(3) {
      guard let start = line.firstRange(of: mark)?.upperBound else { continue }
      return String(line[start...].prefix { $0 != "\"" })
    }
    return nil
  }
}

/// An error of nftables, with its own text: the line, and a caret under it.
package struct NftablesError: Error, Hashable, Sendable, CustomStringConvertible {
  package let text: String

  init(_ text: String) { self.text = text }

  /// Whether the table does not exist.
  var isMissing: Bool { text.contains("No such file or directory") }

  /// Its first line.
  package var description: String {
    let first = text.split(separator: "\n").first.map(String.init) ?? "no reason given"
    return "nftables: \(first)"
  }
}
