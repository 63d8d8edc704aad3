internal import CLinux
internal import Glibc

/// A folder that another one replaces as a whole: the new one is prepared beside it, and exchanged with it in one step
/// (`RENAME_EXCHANGE` of renameat2(2)). A process that is killed at any moment leaves the old folder or the new one in place; the next
/// process sees which one, and finishes or begins again.
///
/// The new folder has a mark until all is finished, so what stands beside the place without the mark is an old folder.
package struct SwappedFolder: Sendable {
  package let path: String

  package init(_ path: String) {
    var path = path
    // After a slash, a name would be one in the folder.
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    self.path = path
  }

  private static let mark = ".roamward-new"

  /// The new folder before the exchange, and the old one between the exchange and its end.
  package var beside: String { path + ".roamward-new" }

  /// The text of the mark of a folder that is in place, and whose exchange has not been finished; `nil`: there is none.
  package var unfinished: String? { Self.mark(of: path) }

  private static func mark(of folder: String) -> String? {
    (try? TextFile.read("\(folder)/\(mark)", limit: 4096)).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Whether a new folder is prepared, or was begun.
  package var isPrepared: Bool { Self.mark(of: beside) != nil }

  /// Begins a new folder. One that was begun before is removed.
  package func begin(mode: UInt32, mark: String) throws(SystemError) {
    try clear()
    try Folder.make(beside, mode: mode)
    try TextFile.replace("\(beside)/\(Self.mark)", with: Array(mark.utf8), mode: 0o600)
  }

  /// Removes a new folder that is not in place.
  package func clear() throws(SystemError) {
    guard unfinished == nil else { throw SystemError(code: EBUSY, operation: "prepare \(beside)") }
    guard isPrepared || Folder.names(in: beside).allSatisfy({ $0.hasPrefix(Self.mark) }) else {
      throw SystemError(code: EEXIST, operation: "prepare \(beside)")
    }
    try Self.remove(beside)
  }

  /// Puts the new folder in place.
  package func exchange() throws(SystemError) {
    for folder in Self.folders(in: beside) { TextFile.syncFolder(of: "\(folder)/.") }
    FaultPoint.pass("before exchanging \(path)")
    guard clinux_rename_to_new(beside, path) == 0 || errno == EEXIST && clinux_exchange(beside, path) == 0 else {
      throw .last("exchange \(path)")
    }
    TextFile.syncFolder(of: path)
    FaultPoint.pass("after exchanging \(path)")
  }

  /// Ends an exchange: the old folder is renamed to `aside` if that is not `nil` and `isKept` says so of it, and removed otherwise. Returns
  /// whether it is kept. Does nothing if there was no exchange.
  @discardableResult package func finish(aside: String?, isKept: (String) -> Bool = { _ in true }) throws(SystemError) -> Bool {
    guard unfinished != nil else { return false }
    var isAside = false
    if access(beside, F_OK) == 0 {
      if let aside, isKept(beside) {
        guard clinux_rename_to_new(beside, aside) == 0 else { throw .last("rename \(beside) to \(aside)") }
        TextFile.syncFolder(of: path)
        isAside = true
      } else {
        try Self.remove(beside)
      }
      FaultPoint.pass("after clearing \(beside)")
    }
    try TextFile.remove("\(path)/\(Self.mark)")
    return isAside
  }

  /// A folder with the folders in it.
  private static func folders(in path: String) -> [String] {
    [path] + Folder.folders(in: path).flatMap { folders(in: "\(path)/\($0)") }
  }

  /// Removes a folder with everything in it. Links are removed, and not followed. The mark goes last: until then it is a new folder's rest.
  private static func remove(_ path: String) throws(SystemError) {
    for name in Folder.names(in: path).filter({ $0 != mark }) {
      let inner = "\(path)/\(name)"
      if unlink(inner) != 0 { try remove(inner) }
    }
    FaultPoint.pass("before removing \(path)")
    guard unlink("\(path)/\(mark)") == 0 || errno == ENOENT || errno == ENOTDIR else { throw .last("remove \(path)/\(mark)") }
    guard rmdir(path) == 0 || errno == ENOENT else { throw .last("remove \(path)") }
  }
}
