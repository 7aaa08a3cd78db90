import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Leads by Curator's LeaderLatch with its usual error policy, once for each session timeout given.
 *
 * java LatchLeader.java SERVERS PATH TIMEOUT_MS...
 *
 * Prints `CLOCK_BOOTTIME-ns leads|stopped TIMEOUT_MS`. Runs until it is killed.
 */
public class LatchLeader {
	/** From System.nanoTime() to CLOCK_BOOTTIME. */
	private static long offsetNs;

	private static long uptimeNs() throws Exception {
		String first = Files.readString(Path.of("/proc/uptime")).split(" ")[0];
		return Math.round(Double.parseDouble(first) * 100) * 10_000_000L;
	}

	/** The file shows hundredths of a second; at the instant at which they change they are exact to some 0.1 ms. */
	private static void setClock() throws Exception {
		long before = uptimeNs();
		long now = before;
		while (now == before)
			now = uptimeNs();
		offsetNs = now - System.nanoTime();
	}

	private static synchronized void say(String what, String timeoutMs) {
		System.out.println((System.nanoTime() + offsetNs) + " " + what + " " + timeoutMs);
		System.out.flush();
	}

	private static void stand(String servers, String path, String timeoutMs) throws Exception {
		CuratorFramework client = CuratorFrameworkFactory.builder()
			.connectString(servers)
			// It must not learn of other servers than those given.
			.ensembleTracker(false)
			.sessionTimeoutMs(Integer.parseInt(timeoutMs))
			.retryPolicy(new ExponentialBackoffRetry(1000, 3))
			.build();
		client.start();
		LeaderLatch latch = new LeaderLatch(client, path + "/" + timeoutMs);
		latch.addListener(new LeaderLatchListener() {
			@Override
			public void isLeader() {
				say("leads", timeoutMs);
			}

			@Override
			public void notLeader() {
				say("stopped", timeoutMs);
			}
		});
		latch.start();
	}

	public static void main(String[] arguments) throws Exception {
		setClock();
		for (int i = 2; i < arguments.length; i++)
			stand(arguments[0], arguments[1], arguments[i]);
		Thread.currentThread().join();
	}
}
