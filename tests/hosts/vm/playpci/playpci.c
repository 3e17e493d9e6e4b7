// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A PCI bus whose functions are played by processes.
 *
 * A process opens /dev/playpci and gives a configuration space. The module answers the kernel's
 * accesses to that space. The BARs lie in memory that the kernel does not use (mem= on its command
 * line). The process maps it, and the rest of the machine's memory for DMA, and sends interrupts.
 * If the file is closed, the device is gone: its configuration space reads as ones and the kernel
 * removes it, as after a surprise removal.
 */
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>
#include <asm/apic.h>
#include "playpci.h"

enum {
	SLOTS = 4,
	DOMAIN = 0x1d1d,
	FIRST_VECTOR = 32, /* of a processor; those below are exceptions */
};

struct function {
	unsigned int slot;
	bool plugged;
	u8 *config, *writable; /* a page each */
	struct work_struct plug, unplug;
};

static ulong start, size;
module_param(start, ulong, 0);
MODULE_PARM_DESC(start, "physical address of memory that the kernel does not use");
module_param(size, ulong, 0);
MODULE_PARM_DESC(size, "its size");

/* Protects `functions` and their pages against accesses to the configuration space, which come with
 * interrupts off. */
static DEFINE_RAW_SPINLOCK(lock);
static struct function *functions[SLOTS];
static ulong taken; /* bits of slots, until the kernel has removed the device */

static struct pci_bus *bus;
static void __iomem *memory; /* the window */
static struct workqueue_struct *queue;
static struct pci_sysdata sysdata = { .domain = DOMAIN, .node = NUMA_NO_NODE };
static struct resource numbers = { .name = "playpci bus", .flags = IORESOURCE_BUS };
static struct resource window = { .name = "playpci", .flags = IORESOURCE_MEM };

static struct function *find(unsigned int devfn)
{
	return PCI_FUNC(devfn) || PCI_SLOT(devfn) >= SLOTS ? NULL : functions[PCI_SLOT(devfn)];
}

static int play_read(struct pci_bus *b, unsigned int devfn, int where, int width, u32 *value)
{
	struct function *f;
	unsigned long flags;

	*value = ~0u;
	raw_spin_lock_irqsave(&lock, flags);
	f = where + width <= PLAYPCI_CONFIG ? find(devfn) : NULL;
	if (f) {
		*value = 0;
		memcpy(value, f->config + where, width);
	}
	raw_spin_unlock_irqrestore(&lock, flags);
	return f ? PCIBIOS_SUCCESSFUL : PCIBIOS_DEVICE_NOT_FOUND;
}

static int play_write(struct pci_bus *b, unsigned int devfn, int where, int width, u32 value)
{
	struct function *f;
	unsigned long flags;
	int i;

	raw_spin_lock_irqsave(&lock, flags);
	f = where + width <= PLAYPCI_CONFIG ? find(devfn) : NULL;
	for (i = where; f && i < where + width; i++, value >>= 8)
		f->config[i] = (f->config[i] & ~f->writable[i]) | ((u8)value & f->writable[i]);
	raw_spin_unlock_irqrestore(&lock, flags);
	return f ? PCIBIOS_SUCCESSFUL : PCIBIOS_DEVICE_NOT_FOUND;
}

static struct pci_ops play_ops = { .read = play_read, .write = play_write };

/* Place the BARs in the part of the window that belongs to the slot, as a machine's firmware does.
 */
static int place_bars(struct function *f)
{
	ulong at = start + size / SLOTS * f->slot, end = at + size / SLOTS;
	int i;

	for (i = 0; i < PLAYPCI_BARS; i++) {
		u32 *bar = (u32 *)(f->config + PCI_BASE_ADDRESS_0) + i;
		u32 mask = ((u32 *)(f->writable + PCI_BASE_ADDRESS_0))[i];

		if (!mask)
			continue;
		at = ALIGN(at, -mask);
		if (at + -mask > end)
			return -ENOSPC;
		*bar = at | (*bar & ~mask);
		at += -mask;
	}
	return 0;
}

/* Fill what the BARs of a slot read as: zeroes at first, ones after the device has gone. */
static void fill_bars(unsigned int slot, int value)
{
	memset_io(memory + size / SLOTS * slot, value, size / SLOTS);
}

static void plug(struct work_struct *work)
{
	struct function *f = container_of(work, struct function, plug);

	pci_lock_rescan_remove();
	pci_scan_slot(bus, PCI_DEVFN(f->slot, 0));
	pci_bus_claim_resources(bus);
	pci_bus_add_devices(bus);
	pci_unlock_rescan_remove();
}

static void function_free(struct function *f)
{
	if (!f)
		return;
	free_page((ulong)f->config);
	free_page((ulong)f->writable);
	kfree(f);
}

/* The device has gone already. Tell its driver, whose remove function then meets a device that is
 * gone. */
static void unplug(struct work_struct *work)
{
	struct function *f = container_of(work, struct function, unplug);
	struct pci_dev *device = pci_get_slot(bus, PCI_DEVFN(f->slot, 0));

	fill_bars(f->slot, 0xff);
	if (device) {
		device->error_state = pci_channel_io_perm_failure;
		pci_stop_and_remove_bus_device_locked(device);
		pci_dev_put(device);
	}
	clear_bit(f->slot, &taken);
	function_free(f);
}

static int take_slot(struct function *f)
{
	for (f->slot = 0; f->slot < SLOTS; f->slot++)
		if (!test_and_set_bit(f->slot, &taken))
			return 0;
	return -ENOSPC;
}

static void publish(struct function *f, struct function *value)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	functions[f->slot] = value;
	raw_spin_unlock_irqrestore(&lock, flags);
}

static int function_new(const struct playpci_add *add, struct function **ret)
{
	struct function *f = kzalloc(sizeof(*f), GFP_KERNEL);
	int r = -ENOMEM;

	if (!f)
		return r;
	INIT_WORK(&f->plug, plug);
	INIT_WORK(&f->unplug, unplug);
	f->config = (u8 *)get_zeroed_page(GFP_KERNEL);
	f->writable = (u8 *)get_zeroed_page(GFP_KERNEL);
	if (f->config && f->writable) {
		memcpy(f->config, add->config, PLAYPCI_CONFIG);
		memcpy(f->writable, add->writable, PLAYPCI_CONFIG);
		r = take_slot(f);
	}
	if (!r) {
		r = place_bars(f);
		if (r)
			clear_bit(f->slot, &taken);
		else
			fill_bars(f->slot, 0);
	}
	if (r)
		function_free(f);
	else
		*ret = f;
	return r;
}

static int play_add(struct file *file, struct playpci_add *add)
{
	struct function *f;
	int r;

	if (file->private_data)
		return -EBUSY;
	r = function_new(add, &f);
	if (r)
		return r;
	file->private_data = f;
	add->window = start;
	add->window_size = size;
	add->config_at = virt_to_phys(f->config);
	add->slot = f->slot;
	publish(f, f);
	return 0;
}

static int play_plug(struct function *f)
{
	if (!f || f->plugged)
		return -EINVAL;
	f->plugged = true;
	queue_work(queue, &f->plug);
	return 0;
}

static long play_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct playpci_interrupt irq;
	struct playpci_add *add;
	long r;

	switch (cmd) {
	case PLAYPCI_ADD:
		add = memdup_user((void __user *)arg, sizeof(*add));
		if (IS_ERR(add))
			return PTR_ERR(add);
		r = play_add(file, add);
		if (!r && copy_to_user((void __user *)arg, add, sizeof(*add)))
			r = -EFAULT;
		kfree(add);
		return r;
	case PLAYPCI_PLUG:
		return play_plug(file->private_data);
	case PLAYPCI_INTERRUPT:
		if (copy_from_user(&irq, (void __user *)arg, sizeof(irq)))
			return -EFAULT;
		if (irq.cpu >= nr_cpu_ids || !cpu_online(irq.cpu) || irq.vector < FIRST_VECTOR ||
		    irq.vector > 255)
			return -EINVAL;
		apic->send_IPI(irq.cpu, irq.vector);
		return 0;
	}
	return -ENOTTY;
}

static int play_mmap(struct file *file, struct vm_area_struct *vma)
{
	u64 at = (u64)vma->vm_pgoff << PAGE_SHIFT;

	/* As drivers map BARs: the kernel allows one kind of caching for a page. */
	if (at >= start && at < start + size)
		vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	return remap_pfn_range(vma, vma->vm_start, vma->vm_pgoff, vma->vm_end - vma->vm_start,
			       vma->vm_page_prot);
}

static int play_release(struct inode *inode, struct file *file)
{
	struct function *f = file->private_data;

	if (f) {
		publish(f, NULL);
		queue_work(queue, &f->unplug);
	}
	return 0;
}

static int play_open(struct inode *inode, struct file *file)
{
	file->private_data =
		NULL; /* the function, once there is one; a miscdevice puts itself here */
	return 0;
}

static const struct file_operations play_fops = {
	.owner = THIS_MODULE,
	.open = play_open,
	.unlocked_ioctl = play_ioctl,
	.mmap = play_mmap,
	.release = play_release,
};
static struct miscdevice play_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "playpci",
	.fops = &play_fops,
};

static int create_bus(void)
{
	LIST_HEAD(resources);

	pci_add_resource(&resources, &numbers);
	pci_add_resource(&resources, &window);
	pci_lock_rescan_remove();
	bus = pci_create_root_bus(NULL, 0, &play_ops, &sysdata, &resources);
	if (bus)
		pci_bus_add_devices(bus);
	pci_unlock_rescan_remove();
	if (!bus)
		pci_free_resource_list(&resources);
	return bus ? 0 : -ENOMEM;
}

static void remove_bus(void)
{
	pci_lock_rescan_remove();
	pci_stop_root_bus(bus);
	pci_remove_root_bus(bus);
	pci_unlock_rescan_remove();
}

static int start_playing(void)
{
	int r = -ENOMEM;

	memory = ioremap(start, size);
	queue = alloc_ordered_workqueue("playpci", 0);
	if (memory && queue)
		r = create_bus();
	if (r)
		return r;
	r = misc_register(&play_device);
	if (r)
		remove_bus();
	return r;
}

static void release_all(void)
{
	if (queue)
		destroy_workqueue(queue);
	if (memory)
		iounmap(memory);
	release_resource(&window);
}

static int __init play_init(void)
{
	int r;

	if (!start || !size)
		return -EINVAL;
	window.start = start;
	window.end = start + size - 1;
	r = insert_resource(&iomem_resource, &window);
	if (r)
		return r;
	r = start_playing();
	if (r)
		release_all();
	return r;
}

/* No file is open, but a device may still have to be removed. */
static void __exit play_exit(void)
{
	misc_deregister(&play_device);
	flush_workqueue(queue);
	remove_bus();
	release_all();
}

module_init(play_init);
module_exit(play_exit);
MODULE_DESCRIPTION("PCI functions that processes play");
MODULE_LICENSE("Dual BSD/GPL");
