internal import CWireGuardIO
internal import Glibc
package import LinuxIO

/// A WireGuard interface in a process of its own, `roamward-wireguard`, as its privileged side sees it: everything that needs a privilege
/// is opened here and passed on, and asked for here later.
///
/// The interface outlives this value, as wireguard-go outlives who started it. It ends by itself when its link or, where the system lets it
/// watch, its socket's file is removed; when the process ends in whatever way, the link goes with it.
package struct InterfaceProcess {
  package static let program = "roamward-wireguard"
  /// Which descriptor is what, in the new process.
  package static let tun: Int32 = 3
  package static let listener: Int32 = 4
  package static let folder: Int32 = 5
  package static let channel: Int32 = 6

  package let process: Int32
  /// To be watched, and served, while it is readable.
  package let sockets: SocketSource
  package let socketsDescriptor: Int32
  private let end: FileDescriptor

  /// Makes the link, down, and the socket by which it is configured, and starts the program. `isAttached`: the interface ends when this
  /// value goes.
  package init(
    _ name: String, program: String, socketDirectory: String, offloads: Offloads = .all, isAttached: Bool = false
  ) throws(SystemError) {
    try Folder.make(socketDirectory, mode: 0o755)
    let path = "\(socketDirectory)/\(name).sock"
    let tun = try TunDevice.make(name, wanting: offloads)
    let listener = try FileDescriptor.listen(at: path, mode: 0o600)
    do throws(SystemError) {
      let watch = cwg_deletion_watch(socketDirectory)
      // A user has 128 of these (fs.inotify.max_user_instances), all of root's programs together. Without one the interface ends with its
      // link alone, which is how the agent ends it.
      let folder = FileDescriptor(owning: watch >= 0 ? watch : cwg_event())
      guard folder.number >= 0 else { throw .last("watch \(socketDirectory)") }
      let (ours, theirs) = try SocketSource.channel()
      var arguments = [Self.program, "--at-work", name, "--offloads", "\(offloads.rawValue)"]
      if isAttached { arguments.append("--attached") }
      FaultPoint.pass("before starting \(program) \(name)")
      // Nothing is in its environment but whose it is (`MarkedProcess`).
      process = try SpawnedProgram(
        program, arguments, environment: ["ROAMWARD_LINK=\(name)"],
        // It says something only where it ends for an error.
        descriptors: [.nothing, .nothing, .inherited, .open(tun.descriptor), .open(listener), .open(folder), .open(theirs)],
        company: .session
      ).start()
      FaultPoint.pass("after starting \(program) \(name)")
      end = ours
      sockets = SocketSource(ours)
      socketsDescriptor = ours.number
    } catch {
      unlink(path)
      throw error
    }
  }

  package static var path: String { programBeside(program) }
}
