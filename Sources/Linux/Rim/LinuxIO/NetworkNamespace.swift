internal import Glibc

/// Whether this process is in the network namespace of process 1, to which the host's services belong. If that cannot be determined, the
/// answer is yes, as for every program by default.
package func isNetworkOfFirstProcess() -> Bool {
  guard let first = networkNamespace(ofProcess: "1"), let own = networkNamespace(ofProcess: "self") else { return true }
  return first == own
}

/// The number of this process's network namespace: the inode of /proc/self/ns/net.
package var ownNetworkNamespace: Int64? {
  guard let own = networkNamespace(ofProcess: "self")?.last else { return nil }
  return Int64(bitPattern: own)
}

private func networkNamespace(ofProcess process: String) -> [UInt64]? {
  var status = stat()
  return stat("/proc/\(process)/ns/net", &status) == 0 ? [UInt64(status.st_dev), UInt64(status.st_ino)] : nil
}
