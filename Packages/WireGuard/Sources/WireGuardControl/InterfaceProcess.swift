internal import CWireGuardIO
internal import Glibc
package import LinuxIO

/// A WireGuard interface in a separate process, `roamward-wireguard`, from the point of view of its privileged parent. The parent opens
/// everything that needs a privilege and passes it on. Later the process requests such things here.
///
/// The interface outlives this value, as wireguard-go outlives the program that started it. It ends by itself when its link is removed, or
/// its socket's file if the system lets it watch that. The link is deleted when the process ends, for any reason.
package struct InterfaceProcess {
  package static let program = "roamward-wireguard"
  /// Descriptor numbers in the new process.
  package static let tun: Int32 = 3
  package static let listener: Int32 = 4
  package static let folder: Int32 = 5
  package static let channel: Int32 = 6

  package let process: Int32
  /// The parent's end of the socket requests: watch it and serve it while it is readable.
  package let sockets: SocketSource
  package let socketsDescriptor: Int32
  private let end: FileDescriptor

  /// Creates the link (down) and the configuration socket, and starts the program. `isAttached`: the interface ends when this value is
  /// released. `cipher`: the name of the library for transport messages; `nil`: the fastest.
  package init(
    _ name: String, program: String, socketDirectory: String, offloads: Offloads = .all, cipher: String? = nil, isAttached: Bool = false
  ) throws(SystemError) {
    try Folder.make(socketDirectory, mode: 0o755)
    let path = "\(socketDirectory)/\(name).sock"
    let tun = try TunDevice.make(name, wanting: offloads)
    let listener = try FileDescriptor.listen(at: path, mode: 0o600)
    do throws(SystemError) {
      let watch = cwg_deletion_watch(socketDirectory)
      // A user has 128 of these (fs.inotify.max_user_instances), shared by all programs of root. Without one the interface ends only with
      // its link, which is how the agent ends it.
      let folder = FileDescriptor(owning: watch >= 0 ? watch : cwg_event())
      guard folder.number >= 0 else { throw .last("watch \(socketDirectory)") }
      let (ours, theirs) = try SocketSource.channel()
      var arguments = [Self.program, "--at-work", name, "--offloads", "\(offloads.rawValue)"]
      if let cipher { arguments += ["--cipher", cipher] }
      if isAttached { arguments.append("--attached") }
      FaultPoint.pass("before starting \(program) \(name)")
      // The environment contains only the owner's mark (`MarkedProcess`).
      process = try SpawnedProgram(
        program, arguments, environment: ["ROAMWARD_LINK=\(name)"],
        // It prints only before it ends with an error.
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
