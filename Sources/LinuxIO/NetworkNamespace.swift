internal import Glibc

/// Whether this process is in the network namespace of the first one: the one that the host's services speak for. Where that cannot be
/// seen, it is taken for so, as it is for every program that nobody put elsewhere.
package func isNetworkOfFirstProcess() -> Bool {
  guard let first = networkNamespace(ofProcess: "1"), let own = networkNamespace(ofProcess: "self") else { return true }
  return first == own
}

private func networkNamespace(ofProcess process: String) -> [UInt64]? {
  var status = stat()
  return stat("/proc/\(process)/ns/net", &status) == 0 ? [UInt64(status.st_dev), UInt64(status.st_ino)] : nil
}
