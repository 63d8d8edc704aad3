import AgentCore
internal import Glibc
internal import KernelModel
internal import LinuxIO
internal import NetworkTypes
internal import ProviderGroups
internal import RoamwardCore
internal import SystemdIO

extension ProgramPlatform {
  static func linux(_ loop: EventLoop, _ groups: ProgramGroups, _ log: RecoveryLog) -> ProgramPlatform {
    let watch = GroupWatch(loop, groups)
    let follower = GroupFollower(loop, groups)
    return ProgramPlatform(
      namespace: ownNetworkNamespace ?? 0,
      found: {
        let noted = log.programs()
        let left = noted.filter { program in
          let group = groups.open(program.path, number: program.group.number)
          if let group, !program.isMade || group.isPopulated { return true }
          if !program.isMade { return false }
          groups.remove(program.path, number: program.group.number)
          return false
        }
        if left != noted { log.savePrograms(left) }
        return left
      },
      path: { ProgramGroups.path(for: $0, mark: $1.mark) },
      make: { program throws(PlatformError) in
        do throws(ProviderGroupError) {
          let group = try groups.make(program.path, mark: program.route.mark, for: program.user)
          var made = program
          made.group = ProviderGroup(number: group.number, level: group.level)
          return made
        } catch {
          throw PlatformError(error.description)
        }
      },
      admit: { process, startTime, program throws(PlatformError) in
        do throws(SystemError) {
          // As long as this descriptor shows that it runs, its number is its own.
          let held = try ProcessDescriptor(process)
          let gone = SystemError(code: ESRCH, operation: "find process \(process)")
          guard PeerIdentity.startTime(of: process) == startTime, !held.hasEnded else { throw gone }
          guard let group = groups.open(program.path, number: program.group.number) else {
            throw SystemError(code: ENOENT, operation: "open the control group \(program.path)")
          }
          try groups.admit(process, to: group)
          if held.hasEnded { throw gone }
          watch.admitted(held, process, to: program)
        } catch {
          throw PlatformError("\(error)")
        }
      },
      watch: { watch.begin($0, $1) },
      remove: {
        watch.end($0)
        groups.remove($0.path, number: $0.group.number)
      },
      release: {
        if !$0.isMade { return groups.unmark($0.path, number: $0.group.number) }
        watch.end($0)
        groups.release($0.path, number: $0.group.number)
      },
      follow: { follower.follow($0, $1) }, left: { watch.left($0) }, save: log.savePrograms,
      usage: { program in
        guard let group = groups.open(program.path, number: program.group.number), group.isPopulated, let usage = group.usage else {
          return nil
        }
        return ProgramUsage(processes: group.processes.count, memory: usage.memory, processorTime: usage.processorTime)
      })
  }
}

/// Notices that groups have become empty.
private final class GroupWatch {
  private let loop: EventLoop
  private let groups: ProgramGroups
  private var sources: [UInt64: EventSource] = [:]
  /// The last process that was admitted to each group.
  private var admitted: [UInt64: (process: Int32, held: ProcessDescriptor)] = [:]

  init(_ loop: EventLoop, _ groups: ProgramGroups) {
    self.loop = loop
    self.groups = groups
  }

  func admitted(_ held: ProcessDescriptor, _ process: Int32, to program: ProgramGroup) { admitted[program.group.number] = (process, held) }

  func left(_ program: ProgramGroup) -> Int32? {
    guard let (process, held) = admitted[program.group.number], !held.hasEnded, ProgramGroups.group(of: process) != program.path else {
      return nil
    }
    return process
  }

  func begin(_ program: ProgramGroup, _ ended: @escaping () -> Void) {
    let number = program.group.number
    guard let group = groups.open(program.path, number: number) else { return later(number, ended) }
    // The kernel changes this file when the first process comes and when the last one goes.
    let file = "/proc/self/fd/\(group.folder.number)/cgroup.events"
    sources[number] = try? loop.onChange(in: file, mask: UInt32(IN_MODIFY)) { [weak self] _, _ in
      guard !group.isPopulated, self?.sources[number] != nil else { return }
      self?.sources[number] = nil
      ended()
    }
    if !group.isPopulated { later(number, ended) } else if sources[number] == nil { look(at: group, ended) }
  }

  /// Looks each second: with too many watches (`max_user_watches`) no change is reported.
  private func look(at group: OpenControlGroup, _ ended: @escaping () -> Void) {
    sources[group.number] = try? loop.at(.now + .seconds(1)) { [weak self] in
      guard let self else { return }
      if group.isPopulated { look(at: group, ended) } else { later(group.number, ended) }
    }
  }

  func end(_ program: ProgramGroup) {
    sources[program.group.number] = nil
    admitted[program.group.number] = nil
  }

  private func later(_ number: UInt64, _ ended: @escaping () -> Void) {
    sources[number] = try? loop.at(.now) { [weak self] in
      self?.sources[number] = nil
      ended()
    }
  }
}

/// Marks the control groups that policies name whenever they exist: systemd makes and removes them.
private final class GroupFollower {
  private let loop: EventLoop
  private let groups: ProgramGroups
  private var wanted: [ProgramGroup] = []
  private var present: [ProgramGroup] = []
  private var changed: ProgramPlatform.Follower = { _, _, _ in }
  /// Watches of the groups above, by their numbers.
  private var sources: [UInt64: EventSource] = [:]

  init(_ loop: EventLoop, _ groups: ProgramGroups) {
    self.loop = loop
    self.groups = groups
  }

  func follow(_ wanted: [ProgramGroup], _ changed: @escaping ProgramPlatform.Follower) {
    (self.wanted, self.changed) = (wanted, changed)
    if wanted.isEmpty, present.isEmpty { return changed([], [], [:]) }
    look(isFirst: true)
  }

  private func look(isFirst: Bool = false) {
    watch()
    var found: [ProgramGroup] = []
    var early: [String] = []
    var failures: [ProgramGroup: String] = [:]
    for var program in wanted {
      let marking = Result { () throws(ProviderGroupError) in try groups.mark(program.path, mark: program.route.mark) }
      if case .failure(let error) = marking { failures[program] = error.description }
      guard case .success(let marked?) = marking else { continue }
      program.group = ProviderGroup(number: marked.group.number, level: marked.group.level)
      found.append(program)
      if isFirst, marked.isPopulated, !present.contains(program) { early.append(program.path) }
    }
    for gone in present where !found.contains(where: { $0.group == gone.group }) { groups.close(gone.group.number) }
    present = found
    changed(found, early, failures)
  }

  /// Watches the group above each one: there it appears and goes.
  private func watch() {
    let above = wanted.compactMap { ProgramGroups.above($0.path) }
    let numbers = Set(above.map(\.number))
    sources = sources.filter { numbers.contains($0.key) }
    for group in above where sources[group.number] == nil {
      let mask = UInt32(IN_CREATE) | UInt32(IN_DELETE) | UInt32(IN_DELETE_SELF)
      sources[group.number] = try? loop.onChange(in: "/proc/self/fd/\(group.folder.number)", mask: mask) { [weak self] name, _ in
        guard let self, name.isEmpty || concerns(name) else { return }
        sources[group.number] = name.isEmpty ? nil : sources[group.number]
        look()
      }
    }
  }

  /// Whether a group of this name is one of those, or above one.
  private func concerns(_ name: String) -> Bool { wanted.contains { $0.path.split(separator: "/").contains { $0 == name } } }
}
