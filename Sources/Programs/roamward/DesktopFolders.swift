import Glibc
import LinuxIO
import PolicyAuthoring
import Terminal

/// The folders with programs' files for launchers, by the XDG Base Directory Specification: that of this user, and those of the machine.
struct DesktopFolders {
  /// The user's own; `nil`: no home is known.
  private let home: String?
  /// Those of the machine, the most important first.
  private let shared: [String]

  init() {
    home = (environment("XDG_DATA_HOME") ?? environment("HOME").map { "\($0)/.local/share" }).map { "\($0)/applications" }
    shared = (environment("XDG_DATA_DIRS") ?? "/usr/local/share:/usr/share").split(separator: ":").map { "\($0)/applications" }
  }

  /// The names of all programs of the machine, without `.desktop`.
  var names: [String] { Set(shared.flatMap { Self.names(in: $0) }).sorted() }

  /// The programs to which `roamward app` has given a route.
  var routed: [(name: String, route: DesktopEntry.Route)] {
    guard let home else { return [] }
    return Self.names(in: home).sorted().compactMap { name in
      (try? entry("\(home)/\(name).desktop"))?.route.map { (name, $0) }
    }
  }

  /// The path of the user's own file for a program.
  func own(_ name: String) throws(Failure) -> String {
    guard let home else { throw .refused("HOME is not set: your own files are not known") }
    guard !name.isEmpty, !name.contains("/"), !name.hasPrefix("."), !name.hasSuffix(".desktop") else {
      throw .refused("\"\(name)\" is no name of a program: write it without folder and .desktop")
    }
    return "\(home)/\(name).desktop"
  }

  /// The machine's file of a program. A name has the folders below `applications` before it, parted by hyphens.
  func path(of name: String) -> String? {
    for folder in shared {
      var candidate = "\(folder)/\(name).desktop"
      if access(candidate, R_OK) == 0 { return candidate }
      var parts = name.split(separator: "-", omittingEmptySubsequences: false)[...]
      var below = folder
      while let part = parts.popFirst(), !parts.isEmpty {
        below += "/\(part)"
        candidate = "\(below)/\(parts.joined(separator: "-")).desktop"
        if access(candidate, R_OK) == 0 { return candidate }
      }
    }
    return nil
  }

  /// `nil`: there is no file.
  func entry(_ path: String) throws(Failure) -> DesktopEntry? {
    let bytes: [UInt8]
    do throws(SystemError) { bytes = try TextFile.read(path, limit: DesktopEntry.longest) } catch {
      if error.code == ENOENT { return nil }
      throw .refused("\(error)")
    }
    do throws(DesktopEntry.Mistake) { return try DesktopEntry(bytes) } catch {
      throw .refused("\(path), \(error); `roamward run` starts the program without it")
    }
  }

  func write(_ text: String, to path: String) throws(Failure) {
    do throws(SystemError) {
      try Folder.make(Folder.parent(of: path), mode: 0o700)
      try TextFile.replace(path, with: Array(text.utf8), mode: 0o644)
    } catch {
      throw .refused("\(error)")
    }
  }

  func remove(_ path: String) throws(Failure) {
    do throws(SystemError) { try TextFile.remove(path) } catch { throw .refused("\(error)") }
  }

  /// Those of the folders below too, as many levels deep, with the folder's name before them.
  private static func names(in folder: String, levels: Int = 3) -> [String] {
    Folder.names(in: folder).filter { !$0.hasPrefix(".") }.flatMap { name -> [String] in
      if name.hasSuffix(".desktop") { return [String(name.dropLast(8))] }
      return levels == 0 ? [] : names(in: "\(folder)/\(name)", levels: levels - 1).map { "\(name)-\($0)" }
    }
  }
}
