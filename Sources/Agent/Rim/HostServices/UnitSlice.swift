internal import Glibc
internal import LinuxIO

/// The slice of systemd in which a unit runs that is a tunnel: its sockets are marked there (docs/decisions/0039).
package struct UnitSlice {
  /// Its name for systemd, which is also that of its control group.
  package let name: String
  /// Whether the unit may run in it already, since an earlier agent.
  let isTakenOver: Bool
  /// Has sockets marked that are opened in it; the reason why that is not possible.
  let mark: () -> String?
  /// Whether it is still the one that was marked.
  let isMarked: () -> Bool
  /// Called when systemd has removed it.
  let forget: () -> Void

  package init(
    _ name: String, isTakenOver: Bool = false, mark: @escaping () -> String? = { nil }, isMarked: @escaping () -> Bool = { true },
    forget: @escaping () -> Void = {}
  ) {
    self.name = name
    self.isTakenOver = isTakenOver
    self.mark = mark
    self.isMarked = isMarked
    self.forget = forget
  }

  /// Whether a control group is in it.
  func contains(_ group: String) -> Bool { group.hasPrefix("/\(name)/") }
}

/// The file that has a unit run in a slice (systemd.unit(5), "drop-in"), until the next boot at most. It comes after those of an
/// administrator.
package struct UnitDropIn {
  package static let folder = "/run/systemd/system"
  private static let fileName = "zz-roamward.conf"

  package let unit: String
  private let folder: String

  package init(_ unit: String, in folder: String = folder) {
    self.unit = unit
    self.folder = "\(folder)/\(unit).d"
  }

  package var path: String { "\(folder)/\(Self.fileName)" }

  /// The slice that it names; `nil`: there is no such file.
  package var slice: String? {
    guard let text = try? TextFile.read(path, limit: 4096) else { return nil }
    return String(decoding: text, as: UTF8.self).split(separator: "\n").last { $0.hasPrefix("Slice=") }.map { String($0.dropFirst(6)) }
  }

  func write(_ slice: String) throws(SystemError) {
    try Folder.make(folder, mode: 0o755)
    let text = "# Written by roamward while the unit is a tunnel: its sockets are marked in this slice.\n[Service]\nSlice=\(slice)\n"
    try TextFile.replace(path, with: Array(text.utf8), mode: 0o644)
  }

  /// Removes it, if it names this slice. Returns whether it was there.
  func remove(_ slice: String) -> Bool {
    let present = self.slice
    guard present == nil || present == slice else { return false }
    // The temporary file of an agent that was killed while it wrote.
    unlink(path + TextFile.temporarySuffix)
    if present != nil { try? TextFile.remove(path) }
    // A folder with other files stays.
    rmdir(folder)
    return present != nil
  }

  /// Those of all units.
  package static func all(in folder: String = folder) -> [UnitDropIn] {
    Folder.names(in: folder).filter { $0.hasSuffix(".d") }.map { UnitDropIn(String($0.dropLast(2)), in: folder) }.filter { $0.slice != nil }
  }
}
