internal import CControlGroup
internal import Glibc
internal import KernelModel
package import LinuxIO

/// The control groups of programs whose packets have a route of their own (`roamward run`), each below the group in which the first of them
/// was started:
///
///     /user.slice/user-1000.slice/session-3.scope/roamward-4026531840-through-1
///
/// So a program stays in its session, under its limits, and ends with it. Below the agent's own group it would have the agent's devices. A
/// user's manager owns its groups: there the group is the user's too, who may leave it.
package final class ProgramGroups {
  /// Open groups by their numbers.
  private var groups: [UInt64: OpenControlGroup] = [:]

  package init() {}

  /// A descriptor of the group that has this number; `nil`: it is not open.
  package func descriptor(of group: UInt64) -> Int32? { groups[group]?.folder.number }

  /// The path of the group with this mark in which the programs of a process are to run. A process in such a group gets one beside it,
  /// because a group below has the mark of the one above.
  package static func path(for process: Int32, mark: UInt32) -> String? {
    guard let own = controlGroup(of: process) else { return nil }
    let parts = own.split(separator: "/")
    let above = parts.prefix { !$0.hasPrefix(prefix) }
    return "/" + (above.map(String.init) + [prefix + suffix(mark)]).joined(separator: "/")
  }

  /// The path of the version 2 control group in which a process is; `nil`: it is gone, or in none.
  package static func group(of process: Int32) -> String? { controlGroup(of: process) }

  private static var prefix: String { "roamward-\(ProviderGroups.namespace)-" }

  private static func suffix(_ mark: UInt32) -> String { mark == Ownership.outsideMark ? "outside" : "through-\(mark & 0xffff)" }

  /// Creates the group if it is missing, and marks the sockets that are opened in it from now on. Its parent is root's, or that of `user`;
  /// for root it may be anybody's.
  package func make(_ path: String, mark: UInt32, for user: UInt32) throws(ProviderGroupError) -> OpenControlGroup {
    let program = try ProviderGroups.marker(mark)
    let parent: OpenControlGroup
    do throws(SystemError) { parent = try Self.parent(of: path) } catch { throw ProviderGroupError(error) }
    guard let owner = parent.owner, [0, user].contains(owner) || user == 0 else {
      throw ProviderGroupError("the control group \(parent.name) is another user's; run the program in a session of your own")
    }
    do throws(SystemError) {
      let group = try parent.asOwner { () throws(SystemError) in
        let before = umask(0o022)
        defer { umask(before) }
        return try parent.makeChild(Self.name(of: path))
      }
      try program.attach(to: group)
      groups[group.number] = group
      return group
    } catch {
      throw ProviderGroupError(error)
    }
  }

  /// Marks the sockets that are opened in a group of others from now on. Returns it, and whether a process is in it; `nil`: there is none.
  package func mark(_ path: String, mark: UInt32) throws(ProviderGroupError) -> (group: OpenControlGroup, isPopulated: Bool)? {
    guard let group = try? OpenControlGroup.root().descendant(path) else { return nil }
    if let known = groups[group.number] { return (known, known.isPopulated) }
    let program = try ProviderGroups.marker(mark)
    // A group below may have a route of its own.
    do throws(SystemError) { try program.attach(to: group, yields: true) } catch { throw ProviderGroupError(error) }
    groups[group.number] = group
    return (group, group.isPopulated)
  }

  /// Closes a group that is gone.
  package func close(_ number: UInt64) { groups[number] = nil }

  /// Marks no sockets of a group any more that was not made here.
  package func unmark(_ path: String, number: UInt64) {
    guard let group = open(path, number: number) else { return }
    _ = ccontrolgroup_detach(group.folder.number)
    groups[number] = nil
  }

  /// The deepest group above this path that exists.
  package static func above(_ path: String) -> OpenControlGroup? {
    guard var group = try? OpenControlGroup.root() else { return nil }
    for part in Folder.parent(of: path).split(separator: "/") {
      guard let next = try? group.child(String(part)) else { break }
      group = next
    }
    return group
  }

  /// Opens the group at this path if it is the one with this number.
  package func open(_ path: String, number: UInt64) -> OpenControlGroup? {
    if let known = groups[number] { return known }
    guard let group = try? OpenControlGroup.root().descendant(path), group.number == number else { return nil }
    groups[number] = group
    return group
  }

  /// Moves a process into the group.
  package func admit(_ process: Int32, to group: OpenControlGroup) throws(SystemError) {
    try group.asOwner { () throws(SystemError) in try group.admit(process) }
  }

  /// Removes an empty group. Returns whether it is gone.
  @discardableResult
  package func remove(_ path: String, number: UInt64) -> Bool {
    groups[number] = nil
    guard let parent = try? Self.parent(of: path), let group = try? parent.child(Self.name(of: path)) else { return true }
    // Another group under its name is not ours to remove, unless it was never counted.
    guard number == 0 || group.number == number else { return true }
    return (try? parent.asOwner { () throws(SystemError) in try parent.removeChild(Self.name(of: path)) }) != nil
  }

  /// Moves all processes of a group to the one above it, and removes it: they go on, and their new sockets have no mark. Returns whether it
  /// is gone.
  @discardableResult
  package func release(_ path: String, number: UInt64) -> Bool {
    guard let group = open(path, number: number), let parent = try? Self.parent(of: path) else {
      return remove(path, number: number)
    }
    // A process may start another one meanwhile.
    for _ in 0..<50 {
      let processes = group.processes
      if processes.isEmpty { break }
      for process in processes { try? parent.asOwner { () throws(SystemError) in try parent.admit(process) } }
    }
    return remove(path, number: number)
  }

  private static func name(of path: String) -> String { path.split(separator: "/").last.map(String.init) ?? "" }

  private static func parent(of path: String) throws(SystemError) -> OpenControlGroup {
    try OpenControlGroup.root().descendant(Folder.parent(of: path))
  }
}
