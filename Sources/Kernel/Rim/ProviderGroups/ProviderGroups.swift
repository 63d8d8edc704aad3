internal import Glibc
package import KernelModel
internal import LinuxIO

/// The control groups of an agent's providers, below the agent's own:
///
///     /system.slice/roamwardd.service/roamward-4026531840/outside/tunnel-work
///
/// Their folder is named after the agent's network namespace, so that agents in several do not meet. Below it is a group for each
/// underlay, with the program that marks sockets for it, and in that a group for each tunnel: `outside`, and `through-7` for tunnels that
/// go through tunnel number 7. `guards` beside it has the same program, and
/// a group for each guard: what the kill switch permits to all of `outside` is not permitted to them.
///
/// A tunnel that is a unit of systemd has a slice with the same program, for systemd alone moves its processes (`UnitSlices`).
package final class ProviderGroups {
  /// The file that names the folder, for the next agent: that may run in another control group.
  private let note: String?
  private(set) var folder: OpenControlGroup?
  private var outside: OpenControlGroup?
  private var failure: String?
  /// Open groups of guards, by their numbers.
  var openGuards: [UInt64: OpenControlGroup] = [:]
  /// The groups of programs that users start (`roamward run`).
  package let programs = ProgramGroups()
  /// Marked slices of units, by their tunnels.
  var slices: [String: OpenControlGroup] = [:]

  /// The usual name of that file.
  package static let noteName = "provider-groups"

  /// `note`: the path of a file for the folder's name.
  package init(note: String?) { self.note = note }

  /// The group for tunnels whose underlay is the network itself; `unexamined` until one was needed.
  package var state: ProviderGroupState {
    if let outside {
      let units = slices.sorted { $0.key < $1.key }.map { ProviderGroup(number: $0.value.number, level: $0.value.level) }
      return .ready(ProviderGroup(number: outside.number, level: outside.level), units: units)
    }
    return failure.map { .unavailable(reason: $0) } ?? .unexamined
  }

  /// A descriptor of the group of tunnels or of a guard that has this number, for as long as this value lives.
  package func descriptor(of group: UInt64) -> Int32? {
    if let outside, outside.number == group { return outside.folder.number }
    if let program = programs.descriptor(of: group) { return program }
    if folder == nil { _ = find() }
    if let slice = slices.values.first(where: { $0.number == group }) { return slice.folder.number }
    if openGuards[group] == nil { for process in guards { openGuard(of: process) } }
    return openGuards[group]?.folder.number
  }

  /// Creates the groups and attaches the program, unless that is done. Without success it tries again at the next call.
  @discardableResult
  package func prepare() -> ProviderGroupState {
    if outside != nil { return state }
    do throws(ProviderGroupError) {
      let home = try home(creating: true)
      folder = home
      outside = try Self.makeMarked(home)
      failure = nil
      findSlices()
    } catch {
      failure = error.description
      removeUnused()
    }
    return state
  }

  /// Finds the groups of an agent, and changes nothing.
  @discardableResult
  package func find() -> ProviderGroupState {
    if outside == nil, let home = try? home(creating: false) {
      folder = home
      outside = try? home.child(Self.outsideName)
    }
    findSlices()
    return state
  }

  /// Whether sockets can be marked here; loads the program for that, and changes nothing. `nil`: they can.
  package static func absence() -> String? {
    do throws(ProviderGroupError) {
      _ = try root()
      _ = try marker()
      return nil
    } catch {
      return error.description
    }
  }

  /// The group of a tunnel whose sockets have this mark, which is created if it is missing.
  package func group(of tunnel: String, mark: UInt32 = Ownership.mark) throws(ProviderGroupError) -> OpenControlGroup {
    prepare()
    guard let outside else { throw ProviderGroupError(failure ?? "") }
    if mark != Ownership.mark, let folder {
      let way = try Self.makeMarked(folder, Self.name(ofWay: mark), mark)
      do throws(SystemError) { return try way.makeChild(Self.name(of: tunnel)) } catch { throw ProviderGroupError(error) }
    }
    if let group = try? outside.makeChild(Self.name(of: tunnel)) { return group }
    // Another program has removed the empty groups: they are made again, under other numbers.
    (folder, self.outside, openGuards) = (nil, nil, [:])
    prepare()
    guard let outside = self.outside else { throw ProviderGroupError(failure ?? "") }
    do throws(SystemError) { return try outside.makeChild(Self.name(of: tunnel)) } catch { throw ProviderGroupError(error) }
  }

  /// The group of a tunnel; `nil`: there is none.
  package func existingGroup(of tunnel: String) -> OpenControlGroup? {
    ways.lazy.compactMap { try? $0.child(Self.name(of: tunnel)) }.first
  }

  /// The groups with tunnels: one for each underlay.
  private var ways: [OpenControlGroup] {
    let inner = folder?.children.filter { $0.hasPrefix(Self.wayPrefix) }.sorted() ?? []
    return (outside.map { [$0] } ?? []) + inner.compactMap { try? folder?.child($0) }
  }

  /// The tunnels that have a group.
  package var tunnels: [String] {
    ways.flatMap(\.children).compactMap { $0.hasPrefix(Self.tunnelPrefix) ? String($0.dropFirst(Self.tunnelPrefix.count)) : nil }
  }

  /// The folder's name, from the root of the hierarchy.
  package var name: String? { folder?.name }

  /// Removes the group of a tunnel; processes in it prevent that.
  package func remove(_ tunnel: String) {
    for way in ways where way.children.contains(Self.name(of: tunnel)) {
      try? way.removeChild(Self.name(of: tunnel))
      if way.number != outside?.number, way.children.isEmpty, let name = way.name.split(separator: "/").last {
        try? folder?.removeChild(String(name))
      }
    }
  }

  /// Kills everything in a tunnel's group, and removes it: waits half a second at most. For use before a loop runs.
  package func end(_ tunnel: String) {
    guard let group = existingGroup(of: tunnel) else { return }
    group.kill()
    wait(for: group)
    remove(tunnel)
  }

  func wait(for group: OpenControlGroup) { for _ in 0..<50 where group.isPopulated { usleep(10_000) } }

  /// Removes all groups, and the note, unless a process is left in one. Returns whether nothing is left.
  @discardableResult
  package func removeUnused() -> Bool {
    if let folder {
      guard !folder.isPopulated, let parent = try? Self.root().descendant(Folder.parent(of: folder.name)) else { return false }
      guard (try? parent.removeChild(Self.folderName)) != nil else { return false }
    }
    (folder, outside, openGuards) = (nil, nil, [:])
    if let note {
      // That of an agent that was killed while it wrote.
      unlink(note + TextFile.temporarySuffix)
      if access(note, F_OK) == 0 { try? TextFile.remove(note) }
    }
    return true
  }

  // MARK: Places

  static let outsideName = "outside"
  static let guardsName = "guards"
  private static let tunnelPrefix = "tunnel-"
  private static func name(of tunnel: String) -> String { tunnelPrefix + tunnel }
  private static let wayPrefix = "through-"
  private static func name(ofWay mark: UInt32) -> String { wayPrefix + String(mark & 0xffff) }

  /// The folder's name: it has the number of the network namespace.
  private static var folderName: String { "roamward-\(namespace)" }

  /// The number of the network namespace.
  static var namespace: UInt64 {
    var status = stat()
    return stat("/proc/thread-self/ns/net", &status) == 0 ? UInt64(status.st_ino) : 0
  }

  /// The folder: the one that an earlier agent has noted, or else one below the group of this process.
  private func home(creating: Bool) throws(ProviderGroupError) -> OpenControlGroup {
    let root = try Self.root()
    if let note, let text = try? TextFile.read(note, limit: 4096) {
      let path = String(decoding: text.prefix { $0 != 10 }, as: UTF8.self)
      if path.split(separator: "/").last.map(String.init) == Self.folderName, let found = try? root.descendant(path) { return found }
    }
    // The line of the version 2 hierarchy appears with its first mount.
    guard let own = controlGroup(of: getpid()) else {
      throw ProviderGroupError("this process is in no version 2 control group (/proc/self/cgroup)")
    }
    do throws(SystemError) {
      let parent = try root.descendant(own)
      if !creating { return try parent.child(Self.folderName) }
      // On disk first: a crash between the two leaves a note of nothing.
      let path = (own == "/" ? "" : own) + "/" + Self.folderName
      if let note { try? TextFile.replace(note, with: Array("\(path)\n".utf8), mode: 0o600) }
      return try parent.makeChild(Self.folderName)
    } catch {
      throw ProviderGroupError(error)
    }
  }

  static func root() throws(ProviderGroupError) -> OpenControlGroup {
    do throws(SystemError) { return try OpenControlGroup.root() } catch { throw ProviderGroupError(error) }
  }

  static func makeMarked(
    _ home: OpenControlGroup, _ name: String = outsideName, _ mark: UInt32 = Ownership.mark
  ) throws(ProviderGroupError) -> OpenControlGroup {
    let group: OpenControlGroup
    do throws(SystemError) { group = try home.makeChild(name) } catch { throw ProviderGroupError(error) }
    let mark = try marker(mark)
    do throws(SystemError) { try mark.attach(to: group) } catch { throw ProviderGroupError(error) }
    return group
  }

  static func marker(_ mark: UInt32 = Ownership.mark) throws(ProviderGroupError) -> SocketMark {
    do throws(SystemError) { return try SocketMark(mark) } catch { throw ProviderGroupError(error) }
  }
}

/// The reason why sockets of providers are not marked, with the remedy.
package struct ProviderGroupError: Error, Equatable, Sendable, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }

  init(_ error: SystemError) {
    let remedy =
      switch error.code {
      case EPERM, EACCES:
        "; it needs root with CAP_BPF and CAP_NET_ADMIN (without a mounted hierarchy also CAP_SYS_ADMIN), and no lockdown of the kernel"
      case EROFS: "; mount /sys/fs/cgroup for writing (in the unit: ReadWritePaths=)"
      case ENOSYS, EINVAL, ENODEV: "; use a kernel with CONFIG_CGROUP_BPF and CONFIG_BPF_SYSCALL"
      default: ""
      }
    description = error.description + remedy
  }
}
