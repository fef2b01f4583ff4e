export { AdmissionModule } from './admission.module';
export { ADMISSION_OPTIONS, type AdmissionOptions } from './admission.options';
