internal import CNftables
package import KernelModel

/// Our only nftables table, with its small companion for ARP: read, replaced as a whole, removed. It belongs to the network namespace of
/// the thread that created this.
///
/// The input of nftables cannot be compared with its listing. So the listing after a replacement is stored, and compared with later ones.
package final class NftablesBackend {
  private let context: OpaquePointer
  /// The kernel's listing after the last replacement, and the digest of its table.
  private var listing: (digest: String, text: String)?
  private var refusal: (digest: String, reason: String)?

  package init() throws(NftablesError) {
    guard let context = nft_ctx_new(UInt32(NFT_CTX_DEFAULT)) else { throw NftablesError("libnftables cannot be started") }
    self.context = context
    nft_ctx_buffer_output(context)
    nft_ctx_buffer_error(context)
    // Without counters, which change by themselves.
    nft_ctx_output_set_flags(context, UInt32(NFT_CTX_OUTPUT_STATELESS | NFT_CTX_OUTPUT_NUMERIC_ALL))
  }

  deinit { nft_ctx_free(context) }

  /// The state of our table. A table of another agent is not known to be intact, unless its comment is trusted (`trusting`); replacing it
  /// costs a millisecond.
  package func observe(trusting: Bool = false) -> ObservedFirewall {
    let text: String
    do {
      text = try list()
    } catch {
      if let refusal { return .refused(digest: refusal.digest, reason: refusal.reason) }
      return error.isMissing ? .absent : .unknown(reason: error.description)
    }
    if let refusal { return .refused(digest: refusal.digest, reason: refusal.reason) }
    let digest = Self.digest(in: text) ?? ""
    return .table(
      digest: digest, isIntact: listing.map { $0.digest == digest && $0.text == text } ?? trusting,
      isGuarding: text.contains("chain output"))
  }

  /// Our table as the kernel lists it, line by line; `nil` if there is none, or access is denied.
  package var lines: [String]? { (try? run("list table \(FirewallTable.name)"))?.split(separator: "\n").map(String.init) }

  /// Other programs' tables that drop outgoing packets by default; none if access is denied.
  package var closedTables: [ClosedTable] { (try? run("list chains")).map(ClosedTable.all) ?? [] }

  /// Replaces the present table, if any, in one transaction.
  package func replace(_ table: FirewallTable) throws(NftablesError) {
    listing = nil
    refusal = nil
    do throws(NftablesError) {
      _ = try run(table.transaction)
    } catch {
      refusal = (table.digest, error.description)
      throw error
    }
    // Not every kernel has nftables for ARP; without it, ARP is visible, but no traffic flows.
    _ = try? run(table.neighbourTransaction)
    listing = (table.digest, try list())
  }

  private func list() throws(NftablesError) -> String {
    let text = try run("list table \(FirewallTable.name)")
    return text + ((try? run("list table \(FirewallTable.neighbourName)")) ?? "")
  }

  package func remove() throws(NftablesError) {
    listing = nil
    refusal = nil
    _ = try run(FirewallTable.removal)
    _ = try? run(FirewallTable.neighbourRemoval)
  }

  private func run(_ commands: String) throws(NftablesError) -> String {
    let status = nft_run_cmd_from_buffer(context, commands)
    // Reading a buffer also empties it for the next command.
    let output = nft_ctx_get_output_buffer(context).map { String(cString: $0) } ?? ""
    let error = nft_ctx_get_error_buffer(context).map { String(cString: $0) } ?? ""
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
