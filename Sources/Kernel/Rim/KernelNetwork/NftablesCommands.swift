internal import CNftables
internal import Glibc
internal import KernelModel

/// Commands of nft(8) for a table that its owner describes as text, in the network namespace of the thread that created this.
package final class NftablesCommands {
  private let context: OpaquePointer
  /// Whether the kernel lets this user ask it for tables. libnftables would tell the terminal.
  private let isDenied: Bool

  /// Loads libnftables.
  package init() throws(NftablesError) {
    var reason: UnsafePointer<CChar>?
    guard let context = cnft_new(&reason) else { throw NftablesError(reason.map { String(cString: $0) } ?? "") }
    self.context = context
    isDenied = NftablesBackend.answer(to: FirewallTable.kernelName) == EPERM
  }

  deinit { cnft_free(context) }

  /// Runs the commands in one transaction, and returns what they print.
  @discardableResult package func run(_ commands: String) throws(NftablesError) -> String {
    if isDenied { throw .denied }
    let status = cnft_run(context, commands)
    // Reading them also empties them for the next command.
    let output = cnft_output(context).map { String(cString: $0) } ?? ""
    let error = cnft_error(context).map { String(cString: $0) } ?? ""
    if status != 0 { throw NftablesError(error) }
    return output
  }

  /// The kernel's listing of a table, without counters; `nil` if there is none.
  package func list(_ table: String) throws(NftablesError) -> String? {
    do throws(NftablesError) {
      return try run("list table \(table)")
    } catch {
      if error.isMissing { return nil }
      throw error
    }
  }
}
