internal import Glibc

/// A program of Debian's package `prometheus`: of the machine, or unpacked by `scripts/setup --vm`, which starts no service. `nil`: none.
package func prometheusProgram(_ name: String) -> String? {
  let cache = getenv("XDG_CACHE_HOME").map { String(cString: $0) } ?? (getenv("HOME").map { String(cString: $0) } ?? "") + "/.cache"
  return ["/usr/bin", "/usr/local/bin", "\(cache)/roamward-vm/unpacked/prometheus/usr/bin"].map { "\($0)/\(name)" }.first {
    access($0, X_OK) == 0
  }
}
