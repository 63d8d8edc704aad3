internal import CControlGroup
internal import Glibc
package import LinuxIO

/// A version 2 control group (cgroups(7)), by an open descriptor of its folder: it works wherever the hierarchy is mounted, also in no
/// folder at all.
package final class OpenControlGroup {
  /// The path from the root of the hierarchy, as in /proc/PID/cgroup.
  package let name: String
  package let folder: FileDescriptor
  /// The inode number of the folder, by which nftables knows the group.
  package let number: UInt64

  private init(_ name: String, _ folder: FileDescriptor) {
    self.name = name
    self.folder = folder
    var status = stat()
    number = fstat(folder.number, &status) == 0 ? UInt64(status.st_ino) : 0
  }

  /// The root of the hierarchy: where it is mounted below /sys/fs/cgroup, or else by a mount that only this process has, which requires
  /// CAP_SYS_ADMIN.
  package static func root() throws(SystemError) -> OpenControlGroup {
    for path in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] {
      let number = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard number >= 0 else { continue }
      let folder = FileDescriptor(owning: number)
      if ccontrolgroup_is_hierarchy(number) == 1 { return OpenControlGroup("/", folder) }
    }
    let number = ccontrolgroup_mount()
    guard number >= 0 else { throw .last("mount the version 2 hierarchy of control groups") }
    return OpenControlGroup("/", FileDescriptor(owning: number))
  }

  /// The depth below the root: 0 for the root itself.
  package var level: Int { name.split(separator: "/").count }

  /// The group of this path below it.
  package func descendant(_ path: String) throws(SystemError) -> OpenControlGroup {
    var group = self
    for part in path.split(separator: "/") { group = try group.child(String(part)) }
    return group
  }

  package func child(_ name: String) throws(SystemError) -> OpenControlGroup {
    let path = path(of: name)
    let number = ccontrolgroup_open(folder.number, name, O_RDONLY | O_DIRECTORY)
    guard number >= 0 else { throw .last("open the control group \(path)") }
    return OpenControlGroup(path, FileDescriptor(owning: number))
  }

  /// The child of this name, which is created if it is missing.
  package func makeChild(_ name: String) throws(SystemError) -> OpenControlGroup {
    FaultPoint.pass("before mkdir \(path(of: name))")
    if ccontrolgroup_make(folder.number, name) != 0, errno != EEXIST { throw .last("make the control group \(path(of: name))") }
    FaultPoint.pass("after mkdir \(path(of: name))")
    return try child(name)
  }

  /// Removes a child with all groups below it. Processes in it are an error (EBUSY).
  package func removeChild(_ name: String) throws(SystemError) {
    if let child = try? child(name) { for below in child.children { try child.removeChild(below) } }
    if ccontrolgroup_remove(folder.number, name) != 0, errno != ENOENT { throw .last("remove the control group \(path(of: name))") }
    FaultPoint.pass("after rmdir \(path(of: name))")
  }

  private func path(of child: String) -> String { (name == "/" ? "" : name) + "/" + child }

  /// The names of the groups directly below it.
  package var children: [String] {
    let copy = ccontrolgroup_open(folder.number, ".", O_RDONLY | O_DIRECTORY)
    guard copy >= 0 else { return [] }
    guard let stream = fdopendir(copy) else {
      close(copy)
      return []
    }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      guard Int32(entry.pointee.d_type) == Int32(DT_DIR) else { continue }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  // MARK: Processes

  /// The processes in it and below it.
  package var processes: [Int32] {
    let own = text("cgroup.procs")?.split(separator: "\n").compactMap { Int32($0) } ?? []
    return own + children.flatMap { (try? child($0))?.processes ?? [] }
  }

  /// Whether a process is in it, or below it. Zombie processes do not count.
  package var isPopulated: Bool { text("cgroup.events")?.split(separator: "\n").contains("populated 1") ?? false }

  /// Moves a process into it, with all its threads. Sockets that it has already keep their mark.
  package func admit(_ process: Int32) throws(SystemError) {
    FaultPoint.pass("before moving a process to \(name)")
    try write("\(process)", to: "cgroup.procs")
    FaultPoint.pass("after moving a process to \(name)")
  }

  /// Sends a signal to every process in it and below it, except the calling one.
  package func signal(_ signal: Int32) {
    for process in processes where process > 0 && process != getpid() { Privileges.signal(process, signal) }
  }

  /// Kills every process in it and below it, also those that are just being created (`cgroup.kill`, Linux 5.14). Before, it sends SIGKILL
  /// until none is left, at most 50 times. Does nothing if the calling process is in it.
  package func kill() {
    if processes.contains(getpid()) { return }
    if (try? write("1", to: "cgroup.kill")) != nil { return }
    for _ in 0..<50 where isPopulated {
      signal(SIGKILL)
      usleep(1000)
    }
  }

  /// The memory and processor time of its processes; `nil`: the group is gone.
  package var usage: GroupUsage? {
    guard let statistics = text("cpu.stat") else { return nil }
    let line = statistics.split(separator: "\n").first { $0.hasPrefix("usage_usec ") }
    let time = Duration.microseconds(line.flatMap { Int64($0.dropFirst(11)) } ?? 0)
    // Without the memory controller in this hierarchy the group has no such file.
    let counted = text("memory.current").flatMap { Int64($0.prefix { $0.isNumber }) }
    return GroupUsage(memory: counted ?? processes.reduce(0) { $0 + residentBytes(of: $1) }, processorTime: time)
  }

  // MARK: Owner

  /// Does something as the user who owns the folder, to whom the agent leaves a folder of a user's manager: it has no CAP_DAC_OVERRIDE.
  func asOwner<Value>(_ body: () throws(SystemError) -> Value) throws(SystemError) -> Value {
    guard geteuid() == 0, let user = owner, user != 0 else { return try body() }
    let result = Privileges.asUser(user) {
      do throws(SystemError) { return Result<Value, SystemError>.success(try body()) } catch { return .failure(error) }
    }
    guard let result else { throw SystemError(code: EPERM, operation: "become user \(user), who owns the control group \(name)") }
    return try result.get()
  }

  /// The user who owns the folder; `nil`: it is gone.
  package var owner: UInt32? {
    var status = stat()
    return fstat(folder.number, &status) == 0 ? status.st_uid : nil
  }

  // MARK: Files

  /// The content of a file of the group; `nil` if it cannot be read.
  private func text(_ name: String) -> String? {
    let number = ccontrolgroup_open(folder.number, name, O_RDONLY)
    guard number >= 0 else { return nil }
    let file = FileDescriptor(owning: number)
    var bytes: [UInt8] = []
    while let part = try? file.read(), !part.isEmpty { bytes += part }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func write(_ text: String, to name: String) throws(SystemError) {
    let number = ccontrolgroup_open(folder.number, name, O_WRONLY)
    guard number >= 0 else { throw .last("write \(path(of: name))") }
    _ = try FileDescriptor(owning: number).write(Array(text.utf8)[...])
  }
}

/// The resources that the processes of a group use.
package struct GroupUsage: Equatable, Sendable {
  /// Bytes: `memory.current`, or without the memory controller the sum of the resident sizes, where shared pages count for each process.
  package var memory: Int64
  /// Since the group was created, also of processes that have ended.
  package var processorTime: Duration

  package init(memory: Int64, processorTime: Duration) {
    self.memory = memory
    self.processorTime = processorTime
  }
}

/// The resident size of a process in bytes (proc_pid_statm(5)); 0 if it is gone.
private func residentBytes(of process: Int32) -> Int64 {
  guard let text = try? TextFile.read("/proc/\(process)/statm", limit: 4096) else { return 0 }
  let fields = String(decoding: text, as: UTF8.self).split(separator: " ")
  return fields.count > 1 ? (Int64(fields[1]) ?? 0) * Int64(sysconf(Int32(_SC_PAGESIZE))) : 0
}
