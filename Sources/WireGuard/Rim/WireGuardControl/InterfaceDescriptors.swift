internal import CWireGuardIO
internal import Glibc
internal import LinuxIO

/// The parts of an interface that only its privileged parent can open: the link (down) with its queues, the configuration socket, and the
/// watch that notices the removal of the socket's file.
struct InterfaceDescriptors {
  let queues: [FileDescriptor]
  let listener: FileDescriptor
  let folder: FileDescriptor
  private let path: String

  init(_ name: String, socketDirectory: String, offloads: Offloads, queues count: Int) throws(SystemError) {
    try Folder.make(socketDirectory, mode: 0o755)
    path = "\(socketDirectory)/\(name).sock"
    queues = try TunDevice.make(name, wanting: offloads, queues: count).queues
    listener = try FileDescriptor.listen(at: path, mode: 0o600)
    let watch = cwg_deletion_watch(socketDirectory)
    // A user has 128 of these (fs.inotify.max_user_instances), shared by all programs of root. Without one the interface ends only with
    // its link, which is how the agent ends it.
    folder = FileDescriptor(owning: watch >= 0 ? watch : cwg_event())
    guard folder.number >= 0 else {
      let error = SystemError.last("watch \(socketDirectory)")
      removeSocket()
      throw error
    }
  }

  func removeSocket() { unlink(path) }
}
