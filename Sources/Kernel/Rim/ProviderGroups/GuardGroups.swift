import KernelModel
internal import LinuxIO

/// The control groups of guards, each named after the process of its program.
extension ProviderGroups {
  private static let guardPrefix = "guard-"
  private static func guardName(_ process: Int32) -> String { guardPrefix + String(process) }

  /// The group of a new guard: empty, and its sockets are marked.
  package func makeGuard(of process: Int32) throws(ProviderGroupError) -> OpenControlGroup {
    if case .unavailable(let reason) = prepare() { throw ProviderGroupError(reason) }
    do {
      return try makeMarkedGuard(of: process)
    } catch {
      // Another program has removed the empty groups.
      guard removeUnused(), prepare().group != nil else { throw error }
      return try makeMarkedGuard(of: process)
    }
  }

  private func makeMarkedGuard(of process: Int32) throws(ProviderGroupError) -> OpenControlGroup {
    guard let folder else { throw ProviderGroupError("there is no folder for control groups") }
    let guards = try Self.makeMarked(folder, Self.guardsName)
    do throws(SystemError) {
      let group = try guards.makeChild(Self.guardName(process))
      openGuards[group.number] = group
      return group
    } catch {
      throw ProviderGroupError(error)
    }
  }

  /// The group of a guard; `nil`: there is none.
  package func existingGuard(of process: Int32) -> OpenControlGroup? { openGuard(of: process) }

  /// Opens a guard's group, for `descriptor(of:)`.
  @discardableResult
  func openGuard(of process: Int32) -> OpenControlGroup? {
    guard let group = try? folder?.descendant("\(Self.guardsName)/\(Self.guardName(process))") else { return nil }
    if let known = openGuards[group.number] { return known }
    openGuards[group.number] = group
    return group
  }

  /// The guards that have a group, by the processes of their programs.
  package var guards: [Int32] {
    let names = (try? folder?.child(Self.guardsName))?.children ?? []
    return names.compactMap { $0.hasPrefix(Self.guardPrefix) ? Int32($0.dropFirst(Self.guardPrefix.count)) : nil }
  }

  /// Removes the group of a guard; processes in it prevent that. Returns whether it is gone.
  @discardableResult
  package func removeGuard(_ process: Int32) -> Bool {
    let number = existingGuard(of: process)?.number
    guard let guards = try? folder?.child(Self.guardsName) else { return true }
    guard (try? guards.removeChild(Self.guardName(process))) != nil else { return false }
    if let number { openGuards[number] = nil }
    return true
  }

  /// Kills everything in a guard's group, and removes it: waits half a second at most. For use before a loop runs.
  package func endGuard(_ process: Int32) {
    guard let group = existingGuard(of: process) else { return }
    group.kill()
    wait(for: group)
    removeGuard(process)
  }
}
